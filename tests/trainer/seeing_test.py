#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a run of headroom-train leaves to be looked at: report.html, whatever the end, and events for TensorBoard, read here
by a reader of the test's own.

    seeing_test.py FOLDER_OF_PROGRAMS
"""
import html.parser
import json
import pathlib
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import browser  # noqa: E402
from tiny_job import Programs, write_job  # noqa: E402

FOLDER = pathlib.Path(sys.argv.pop(1))
DIVERGES = 'optimizer.kind = "sgd"\noptimizer.learning_rate = 10\noptimizer.momentum = 0.9\n'
EVIL = "<script>alert(1)<b>&\"'"


class Page(html.parser.HTMLParser):
    """The elements, the text, the scripts, and every mistake of nesting."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open, self.mistakes, self.elements, self.ids, self.text, self.data = [], [], [], [], "", []
        self.feed(text)
        self.close()
        self.mistakes += [f"<{tag}> is never closed" for tag in self.open]

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        self.ids += [value for name, value in attributes if name == "id"]
        if tag != "meta":
            self.open.append(tag)
            self.data += [""] if tag == "script" else []

    def handle_startendtag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.mistakes.append(f"</{tag}> at {self.getpos()} closes another element")

    def handle_data(self, data):
        if self.open and self.open[-1] == "script":
            self.data[-1] += data
        elif self.open and self.open[-1] != "style":
            self.text += data


def crc32c(data):
    crc = 0xffffffff
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = (crc >> 1) ^ (0x82f63b78 if crc & 1 else 0)
    return crc ^ 0xffffffff


def masked(data):
    crc = crc32c(data)
    return ((crc >> 15 | crc << 17) + 0xa282ead8) & 0xffffffff


def fields(message):
    """(number, value) of each field of a protocol buffer."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 0x7f) << shift
            shift += 7
            if byte < 0x80:
                return value
    while at < len(message):
        key = varint()
        if key & 7 == 0:
            yield key >> 3, varint()
            continue
        size = {1: 8, 5: 4}.get(key & 7) or varint()
        yield key >> 3, message[at:at + size]
        at += size


def events_of(path):
    """(step, {tag: value}, whether a process begins) of each record, checksums included; a record cut short ends it."""
    data, at, events = path.read_bytes(), 0, []
    while at + 12 <= len(data):
        (length,) = struct.unpack_from("<Q", data, at)
        assert struct.unpack_from("<I", data, at + 8)[0] == masked(data[at:at + 8])
        body = data[at + 12:at + 12 + length]
        if at + 16 + length > len(data):
            break
        assert struct.unpack_from("<I", data, at + 12 + length)[0] == masked(body)
        at += 16 + length
        event = dict(fields(body))
        scalars = {}
        for number, value in fields(event.get(5, b"")):
            scalar = dict(fields(value))
            scalars[scalar[1].decode()] = struct.unpack("<f", scalar[2])[0]
        events.append((event.get(2, 0), scalars, 7 in event))
        if len(events) == 1:
            assert event[3] == b"brain.Event:2"
    return events


class Seeing(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="headroom-seeing-")
        self.addCleanup(scratch.cleanup)
        self.scratch = pathlib.Path(scratch.name)
        self.output = self.scratch / "out"
        self.programs = Programs(FOLDER, self.scratch / "state")

    def job(self, more="", **about):
        job = write_job(self.scratch, **about)
        job.write_text(job.read_text() + more)
        return job

    def train(self, job, *words):
        return self.programs.run("headroom-train", job, "--output", self.output, *words)

    def page(self):
        text = (self.output / "report.html").read_text(encoding="utf-8")
        page = Page(text)
        self.assertEqual(page.mistakes, [])
        self.assertEqual(len(page.ids), len(set(page.ids)))
        self.assertNotIn("http", text)
        self.assertNotIn("url(", text)
        for tag, attributes in page.elements:
            self.assertFalse({"src", "href", "srcset"} & set(attributes), tag)
            self.assertNotIn(tag, ("link", "img", "iframe", "object"))
            for name in attributes.get("aria-labelledby", "").split():
                self.assertIn(name, page.ids)
        return page

    def events(self):
        files = sorted((self.output / "tensorboard").iterdir())
        return [events_of(path) for path in files]

    def metrics(self):
        return [json.loads(line) for line in (self.output / "metrics.jsonl").read_text().splitlines()]

    def test_a_finished_run_leaves_a_page_and_no_events_unasked(self):
        result = self.train(self.job("data.evaluation = 0.2\n"))
        self.assertEqual(result.returncode, 0, result.stderr)
        page = self.page()
        report = json.loads((self.output / "report.json").read_text())
        self.assertIn(f"Finished after {report['steps']} steps.", page.text)
        for name in ("loss", "memory", "speed"):
            self.assertIn(name, page.ids)
        self.assertIn("+0.0 %", page.text)
        loss = [json.loads(data) for data in page.data if data.startswith('{"chart":"loss"')][0]
        self.assertEqual(len(loss["points"]), report["steps"])
        self.assertIn("evaluation", loss["points"][-1][1])
        self.assertFalse((self.output / "tensorboard").exists())

    def test_events_are_those_of_the_metrics_and_go_on_when_resumed(self):
        job = self.job("output.tensorboard = true\ndata.evaluation = 0.2\n")
        self.assertEqual(self.train(job).returncode, 0)
        longer = self.job("output.tensorboard = true\ndata.evaluation = 0.2\n", name="longer.toml", epochs=3)
        resumed = self.train(longer, "--resume")
        self.assertEqual(resumed.returncode, 0, resumed.stderr)
        first, second = self.events()
        lines = self.metrics()
        steps = [line["step"] for line in lines if "loss" in line]
        self.assertEqual([step for step, scalars, _ in first + second if "train/loss" in scalars], steps)
        starts = [step for step, _, begins in first + second if begins]
        self.assertEqual(starts, [1, 1 + max(step for step, _, _ in first)])
        found = iter(event for event in first + second if event[1])
        for line in lines:
            step, scalars, _ = next(found)
            self.assertEqual(step, line["step"])
            if "loss" not in line:
                self.assertAlmostEqual(scalars["eval/loss"], line["evaluation_loss"], places=5)
                continue
            self.assertAlmostEqual(scalars["train/loss"], line["loss"], places=5)
            self.assertAlmostEqual(scalars["train/learning_rate"], line["learning_rate"], places=9)
            self.assertAlmostEqual(scalars["speed/tokens_per_s"] / line["tokens_per_s"], 1, places=5)
            self.assertAlmostEqual(scalars["memory/live_peak_bytes"] / line["live_peak_bytes"], 1, places=5)
            self.assertIn("memory/reserved_peak_bytes", scalars)
        self.assertIn("Resumed once", self.page().text)

    def test_a_killed_run_is_resumed_with_its_first_part_on_the_page(self):
        long = self.job("output.tensorboard = true\n", name="long.toml", epochs=20000)
        run = self.programs.start("headroom-train", long, "--output", self.output, "--quiet")
        self.addCleanup(run.communicate)
        self.addCleanup(run.kill)
        while not (self.output / "checkpoint/state.safetensors").exists():
            self.assertIsNone(run.poll())
            time.sleep(0.02)
        run.kill()
        run.communicate()
        self.assertFalse((self.output / "report.html").exists())
        with open(self.output / "metrics.jsonl", "a", encoding="utf-8") as file:
            file.write('{"step": 3, "lo')
        with open(next((self.output / "tensorboard").iterdir()), "ab") as file:
            file.write(b"\x10\0\0")
        result = self.train(self.job("output.tensorboard = true\n", epochs=1), "--resume")
        self.assertEqual(result.returncode, 0, result.stderr)
        loss = [json.loads(data) for data in self.page().data if data.startswith('{"chart":"loss"')][0]
        self.assertTrue(loss["points"][0][1].startswith("step 1;") or "steps 1 to" in loss["points"][0][1])
        self.assertEqual(len(self.events()), 2)

    def test_a_stop_and_a_loss_that_is_no_number_leave_a_page_that_says_so(self):
        long = self.job(name="long.toml", epochs=20000)
        run = self.programs.start("headroom-train", long, "--output", self.output, "--quiet")
        self.addCleanup(run.communicate)
        self.addCleanup(run.kill)
        while not (self.output / "metrics.jsonl").exists() or len(self.metrics_text().splitlines()) < 2:
            self.assertIsNone(run.poll())
            time.sleep(0.02)
        run.send_signal(signal.SIGTERM)
        self.assertEqual(run.wait(timeout=120), 1)
        self.assertIn("stopped by request", self.page().text)
        shutil.rmtree(self.output)
        result = self.train(self.job(DIVERGES, epochs=20))
        self.assertEqual(result.returncode, 1, result.stderr)
        page = self.page()
        self.assertIn("is not a finite number", page.text)
        self.assertIn("Next: lower optimizer.learning_rate", page.text)

    def metrics_text(self):
        return (self.output / "metrics.jsonl").read_text()

    def test_a_run_that_finishes_no_step_leaves_a_page_without_curves(self):
        job = self.job("compute.attention = \"math\"\n", capacity="2MiB")
        job.write_text(job.read_text().replace("batch.sequence = 96", "batch.sequence = 3000"))
        result = self.train(job)
        self.assertEqual(result.returncode, 1, result.stderr)
        page = self.page()
        self.assertIn("No step was finished.", page.text)
        self.assertIn("out of memory", page.text)

    def test_names_are_no_markup(self):
        model = self.scratch / EVIL.replace("/", "")
        model.mkdir()
        job = write_job(self.scratch)
        shutil.move(self.scratch / "config.json", model / "config.json")
        name = json.dumps(model.name)
        job.write_text(job.read_text().replace('"config.json"', name, 1))
        result = self.train(job)
        self.assertEqual(result.returncode, 0, result.stderr)
        page = self.page()
        self.assertIn("Training of " + EVIL, page.text)
        self.assertNotIn("b", [tag for tag, _ in page.elements])

    def test_what_cannot_be_written_is_a_note_and_the_run_is_none_the_worse(self):
        self.output.mkdir()
        (self.output / "report.html").symlink_to("/dev/full")
        (self.output / "tensorboard").write_text("a file")
        result = self.train(self.job("output.tensorboard = true\n"))
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("no page of this run: ", result.stderr)
        self.assertIn("nothing for TensorBoard: ", result.stderr)
        self.assertTrue((self.output / "model.safetensors").exists())
        self.assertEqual(list(self.output.glob("*.part-*")), [])

    def test_with_its_output_closed_it_leaves_the_same(self):
        job = self.job()
        done = subprocess.run(["sh", "-c", '"$0" "$1" --output "$2" --quiet >&- 2>&-', FOLDER / "headroom-train", job, self.output],
                              env=self.programs.environment, timeout=120, check=False)
        self.assertIn(done.returncode, (0, 3))
        self.page()

    def test_the_key_is_for_headrooms_own_trainer(self):
        job = self.job("output.tensorboard = true\n")
        planned = self.programs.run("headroom", "plan", job)
        self.assertEqual(planned.returncode, 0, planned.stderr)
        job.write_text(job.read_text().replace('engine.kind = "headroom"', 'engine.kind = "transformers"'))
        refused = self.programs.run("headroom", "plan", job)
        self.assertEqual(refused.returncode, 2, refused.stderr)
        self.assertIn("output.tensorboard", refused.stderr)
        job.write_text(job.read_text().replace("tensorboard = true", 'tensorboard = "yes"'))
        self.assertIn("output.tensorboard", self.programs.run("headroom-train", job, "--output", self.output).stderr)

    @unittest.skipUnless(browser.is_here(), "no chromium and chromedriver here")
    def test_chromium_shows_it_without_a_word_on_the_console(self):
        self.assertEqual(self.train(self.job("data.evaluation = 0.2\n")).returncode, 0)
        chromium = browser.Browser()
        self.addCleanup(chromium.close)
        for scheme in ("light", "dark"):
            chromium.command("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
            chromium.command("Emulation.setDeviceMetricsOverride", width=360, height=640, deviceScaleFactor=2, mobile=True)
            chromium.open((self.output / "report.html").as_uri())
            self.assertLessEqual(chromium.run("return document.documentElement.scrollWidth - "
                                              "document.documentElement.clientWidth"), 0)
            contrast, text = chromium.run(browser.LEAST_CONTRAST)
            self.assertGreaterEqual(contrast, 4.5, f"{scheme}: {text}")
        chromium.run("document.getElementById('loss').dispatchEvent(new KeyboardEvent('keydown', {key: 'End'}))")
        self.assertIn("Step", chromium.run("return document.getElementById('loss-readout').textContent"))
        self.assertEqual(chromium.ask("POST", "/se/log", {"type": "browser"}), [])


if __name__ == "__main__":
    unittest.main()
