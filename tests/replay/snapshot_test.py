#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`headroom replay` and PyTorch's memory snapshots, against Python itself: what pickle writes in every protocol is
read, what --export writes pickle loads, and the page needs no network.

    snapshot_test.py FOLDER_OF_PROGRAMS
"""
import html.parser
import json
import os
import pathlib
import pickle
import subprocess
import sys
import tempfile
import unittest

PROGRAMS = pathlib.Path(sys.argv.pop(1))
MIB = 1 << 20
BASE = 0x7F1200000000
VOID = {"meta"}


def frames(line):
    """As torch has them: the innermost call first."""
    return [{"name": "linear", "filename": "/usr/lib/python3/dist-packages/torch/nn/functional.py", "line": 114},
            {"name": "forward", "filename": "/project/model.py", "line": line},
            {"name": "<module>", "filename": "/project/train.py", "line": 3}]


class Job:
    """Plays PyTorch: what it records while a program allocates, in segments of their own size."""

    def __init__(self, capacity):
        self.capacity, self.segments, self.trace, self.next = capacity, {}, [], BASE
        self.stacks = {}

    def event(self, action, address, size, stream=0, line=0, **more):
        stack = self.stacks.setdefault(line, frames(line))  # One object for every event of a line, as in torch.
        key = "device_free" if action == "oom" else "addr"
        self.trace.append({"action": action, key: address, "size": size, "stream": stream, "frames": stack,
                           "time_us": 1_700_000_000_000_000 + len(self.trace), **more})

    def reserved(self):
        return sum(segment["total_size"] for segment in self.segments.values())

    def allocate(self, size, stream=0, line=0):
        total = -(-size // (2 * MIB)) * 2 * MIB
        if self.reserved() + total > self.capacity:
            self.event("oom", self.capacity - self.reserved(), -(-size // 512) * 512, stream, line)
            return None
        address, self.next = self.next, self.next + total
        self.event("segment_alloc", address, total, stream, line)
        self.event("alloc", address, size, stream, line)
        self.segments[address] = {
            "device": 1, "address": address, "total_size": total, "allocated_size": size, "active_size": size,
            "requested_size": size, "stream": stream, "segment_type": "large", "segment_pool_id": (0, 0),
            "is_expandable": False, "frames": [],
            "blocks": [{"address": address, "size": total, "requested_size": size, "state": "active_allocated",
                        "frames": self.stacks[line]}]}
        return address

    def free(self, address):
        block = self.segments[address]["blocks"][0]
        for action in ("free_requested", "free_completed"):
            self.event(action, address, block["requested_size"])
        block["state"] = "inactive"

    def snapshot(self, oldest=0):
        return {"segments": list(self.segments.values()), "device_traces": [[], self.trace[oldest:]],
                "allocator_settings": {"PYTORCH_CUDA_ALLOC_CONF": "", "max_split_size": -1, "garbage_collection_threshold": 0.0,
                                       "expandable_segments": False, "roundup_power2_divisions": {"1": 0}},
                "external_annotations": []}


def failing_job():
    """128 MiB: two blocks of 40 MiB with one of 10 MiB between them, which are freed; then 90 MiB are asked for."""
    job = Job(128 * MIB)
    job.allocate(4 * MIB, line=9)
    first = job.allocate(40 * MIB, line=31)
    job.allocate(10 * MIB, stream=0x55AA12345678, line=32)
    second = job.allocate(40 * MIB, line=33)
    job.free(first)
    job.free(second)
    job.allocate(90 * MIB, line=34)
    return job


class Page(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open, self.mistakes, self.elements, self.scripts = [], [], [], []
        self.feed(text)
        self.close()
        self.mistakes += [f"<{tag}> is never closed" for tag in self.open]

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        if tag not in VOID:
            self.open.append(tag)
        if tag == "script":
            self.scripts.append("")

    def handle_startendtag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.mistakes.append(f"</{tag}> at {self.getpos()} closes another element")

    def handle_data(self, data):
        if self.open and self.open[-1] == "script":
            self.scripts[-1] += data


class Snapshots(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="headroom-snapshot-")
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)

    def replay(self, *arguments):
        return subprocess.run([PROGRAMS / "headroom", "replay", *arguments], capture_output=True, text=True, timeout=120,
                              env={"HOME": str(self.folder), "PATH": os.environ["PATH"]})

    def write(self, value, protocol=4, name="job.pickle"):
        path = self.folder / name
        path.write_bytes(pickle.dumps(value, protocol))
        return path

    def test_every_protocol_of_pickle_says_the_same(self):
        answers = []
        for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
            done = self.replay(self.write(failing_job().snapshot(), protocol), "--json", "--policy", "headroom")
            self.assertEqual(done.returncode, 0, (protocol, done.stderr))
            answers.append(json.loads(done.stdout))
            answers[-1].pop("ns_per_event")
        for answer in answers[1:]:
            self.assertEqual(answer, answers[0])
        oom = answers[0]["snapshot"]["oom"]
        self.assertEqual(answers[0]["snapshot"]["device"], 1)
        self.assertEqual(oom["refused_bytes"], 90 * MIB)
        self.assertEqual(oom["owner"], "model.py:34 forward")
        self.assertEqual(oom["reserved_bytes"], 94 * MIB)
        self.assertEqual(oom["live_bytes"], 14 * MIB)
        self.assertEqual(oom["device_free_bytes"], 34 * MIB)
        self.assertEqual(oom["capacity_bytes"], 128 * MIB)
        self.assertEqual([row["owner"] for row in oom["largest"]], ["model.py:32 forward", "model.py:9 forward"])
        self.assertEqual(answers[0]["capacity_bytes"], 128 * MIB)

    def test_it_says_in_words_whether_the_job_would_have_got_past_it(self):
        done = self.replay(self.write(failing_job().snapshot()), "--policy", "headroom")
        self.assertEqual(done.returncode, 0, done.stderr)
        for words in ("PyTorch memory snapshot of device 1", "90.0 MiB were asked for (model.py:34 forward) and refused",
                      "14.0 MiB live and 94.0 MiB reserved, so 80.0 MiB of its own were unused; the device had 34.0 MiB free",
                      "capacity 128.0 MiB", "headroom: yes."):
            self.assertIn(words, " ".join(done.stdout.split()))
        less = self.replay(self.write(failing_job().snapshot()), "--policy", "headroom", "--capacity", "100MiB")
        self.assertEqual(less.returncode, 1)
        self.assertIn("headroom: no. It refuses the same request in 100.0 MiB", " ".join(less.stdout.split()))

    def test_blocks_older_than_the_history_are_live_from_the_start(self):
        job = failing_job()
        done = self.replay(self.write(job.snapshot(oldest=4)), "--json", "--policy", "headroom")
        snapshot = json.loads(done.stdout)["snapshot"]
        self.assertEqual((snapshot["live_at_start_blocks"], snapshot["live_at_start_bytes"]), (2, 44 * MIB))
        self.assertEqual(snapshot["oom"]["live_bytes"], 14 * MIB)
        self.assertEqual(snapshot["oom"]["reserved_bytes"], 94 * MIB)

    def test_without_a_history_it_names_the_call_that_makes_one(self):
        job = failing_job()
        for value in ({**job.snapshot(), "device_traces": [[], []]}, list(job.segments.values())):
            done = self.replay(self.write(value))
            self.assertEqual(done.returncode, 2)
            self.assertIn("torch.cuda.memory._record_memory_history()", done.stderr)

    def test_a_device_is_chosen_by_number(self):
        path = self.write(failing_job().snapshot())
        self.assertEqual(self.replay(path, "--device", "1", "--policy", "headroom").returncode, 0)
        other = self.replay(path, "--device", "0")
        self.assertEqual(other.returncode, 2)
        self.assertIn("next: --device 1", other.stderr)

    def test_a_hostile_pickle_runs_nothing(self):
        mark = self.folder / "mark"

        class Hostile:
            def __reduce__(self):
                return (os.mkdir, (str(mark),))

        for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
            done = self.replay(self.write({"segments": [Hostile()]}, protocol))
            self.assertEqual(done.returncode, 2)
            self.assertIn("Nothing was executed", done.stderr)
            self.assertIn("next:", done.stderr)
        self.assertFalse(mark.exists())

    def test_a_cut_file_is_an_error_at_every_length(self):
        whole = pickle.dumps(failing_job().snapshot(), 4)
        for length in range(0, len(whole), 97):
            path = self.folder / "cut.pickle"
            path.write_bytes(whole[:length])
            done = self.replay(path)
            self.assertIn(done.returncode, (0, 2), done.stderr)  # Nothing at all is an empty trace.
            if length > 0:
                self.assertEqual(done.returncode, 2, length)
                self.assertIn("next:", done.stderr)

    def test_python_loads_what_export_writes(self):
        trace = self.folder / "job.trace"
        trace.write_text("a 1 3000000 0 weights\na 2 50000 7 activations\nf 1\na 3 1000 0 logits\n")
        for policy in ("headroom", "torch", "torch-expandable", "bfc", "best-fit"):
            out = self.folder / f"{policy}.pickle"
            done = self.replay(trace, "--policy", policy, "--capacity", "64MiB", "--export", out)
            self.assertEqual(done.returncode, 0, done.stderr)
            snapshot = pickle.loads(out.read_bytes())
            events = [e for e in snapshot["device_traces"][0] if not e["action"].startswith("segment")]
            self.assertEqual([(e["action"], e["size"], e["stream"]) for e in events],
                             [("alloc", 3000000, 0), ("alloc", 50000, 7), ("free_requested", 3000000, 0),
                              ("free_completed", 3000000, 0), ("alloc", 1000, 0)])
            self.assertEqual(events[1]["frames"], [{"name": "headroom: activations", "filename": "", "line": 0}])
            live = [b for s in snapshot["segments"] for b in s["blocks"] if b["state"] == "active_allocated"]
            self.assertEqual(sorted(b["requested_size"] for b in live), [1000, 50000])
            for segment in snapshot["segments"]:
                self.assertEqual(sum(b["size"] for b in segment["blocks"]), segment["total_size"])
                self.assertEqual(set(segment), {"device", "address", "total_size", "allocated_size", "active_size",
                                                "requested_size", "stream", "segment_type", "segment_pool_id",
                                                "is_expandable", "frames", "blocks"})
            again = self.replay(out, "--policy", policy, "--json")
            self.assertEqual(json.loads(again.stdout)["events"], 4)

    def test_export_takes_one_policy(self):
        done = self.replay(self.write(failing_job().snapshot()), "--policy", "torch", "--policy", "bfc", "--export", "x")
        self.assertEqual(done.returncode, 2)
        self.assertIn("--export", done.stderr)

    def test_the_page_is_well_formed_and_needs_no_network(self):
        job = failing_job()
        job.stacks[34][1]["name"] = "</p><script>alert(1)</script>"
        page_file = self.folder / "page.html"
        done = self.replay(self.write(job.snapshot()), "--policy", "torch", "--policy", "headroom", "--html", page_file)
        self.assertIn(done.returncode, (0, 1), done.stderr)
        text = page_file.read_text(encoding="utf-8")
        page = Page(text)
        self.assertEqual(page.mistakes, [])
        self.assertNotIn("<script>alert", text)
        for word in ("http", "url(", "@import"):
            self.assertNotIn(word, text)
        for tag, attributes in page.elements:
            self.assertFalse({"src", "href", "xlink:href", "srcset"} & set(attributes), tag)
        ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
        self.assertEqual(len(ids), len(set(ids)))
        pictures = [a for tag, a in page.elements if tag == "svg" and a.get("role") == "img"]
        self.assertEqual(len(pictures), 4)
        data = [json.loads(script) for script in page.scripts if script.startswith("{")]
        self.assertEqual(len(data), 2)
        self.assertEqual(max(point[1] for point in data[1]["points"]), 104 * MIB)

    def test_a_place_that_cannot_be_written_is_said(self):
        path = self.write(failing_job().snapshot())
        for option in ("--html", "--export"):
            done = self.replay(path, "--policy", "headroom", option, self.folder / "none" / "file")
            self.assertEqual(done.returncode, 3)
            self.assertIn("none/file", done.stderr)
            self.assertIn("next:", done.stderr)


if __name__ == "__main__":
    unittest.main()
