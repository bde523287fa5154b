#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What only a real GPU can show of headroom's allocator: that it works under the PyTorch that is installed here, what it
saves, and what a step costs. For NVIDIA's cards as for AMD's.

    card.py FOLDER [--python PYTHON] [--only REGEX] [--rounds N]

FOLDER has bin/headroom and lib/, as `cmake --install` or the package makes them; FOLDER/tests may have gpu_self_test and
allocator_backends_test. Prints one paragraph for each part as it ends; the seconds of each part stand behind its name.
A part that fails does not end the others. Exit 1 if any failed.
"""
import argparse
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time

SOURCE = pathlib.Path(__file__).resolve().parent.parent
PROGRAMS = SOURCE / "tests" / "faces" / "programs"
OURS = SOURCE / "bench" / "card"
# Steps, width, layers, longest sequence: one that keeps the GPU busy, and one that waits for Python and the allocator.
BUSY = ("40", "1024", "12", "2048")
SMALL = ("150", "128", "16", "128")


class Card:
    def __init__(self, arguments, scratch):
        self.folder, self.python, self.rounds = arguments.folder.resolve(), arguments.python, arguments.rounds
        self.headroom = self.folder / "bin" / "headroom"
        self.base = {**os.environ, "PYTHONPATH": f"{os.environ.get('PYTHONPATH', '')}:{PROGRAMS}", "HF_HUB_OFFLINE": "1", "REAL_GPU": "0",
                     "XDG_CACHE_HOME": scratch, "XDG_STATE_HOME": scratch, "TEST_FOLDER": scratch, "TOKENIZERS_PARALLELISM": "false"}

    def run(self, *words, timeout=120, **variables):
        return subprocess.run([str(word) for word in words], env={**self.base, **variables}, timeout=timeout, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True)

    def start(self, allocator, *words, **variables):
        """The command and the environment of a script under "native", "expandable", "headroom" or "plain memory"."""
        by = []
        if allocator == "expandable":
            variables["PYTORCH_ALLOC_CONF"] = variables["PYTORCH_CUDA_ALLOC_CONF"] = "expandable_segments:True"
        elif allocator != "native":
            by = [self.headroom, "run", "--quiet", "--allocator", "--guard", "off", "--split", variables.pop("split", "off"), "--"]
            if allocator == "plain memory":
                variables["HEADROOM_ALLOCATOR_VIRTUAL_MEMORY"] = "off"
        return [*by, self.python, *words], variables

    def script(self, allocator, *words, **variables):
        words, variables = self.start(allocator, *words, **variables)
        return self.run(*words, **variables)


def last_lines(done, count=3):
    text = (done.stdout + done.stderr).strip().splitlines()
    return f"exit {done.returncode}: " + " | ".join(text[-count:])


def expect(done):
    if done.returncode != 0:
        raise RuntimeError(last_lines(done, 12))
    return done.stdout


def the_card(card):
    yield expect(card.run("nvidia-smi", "--query-gpu=name,driver_version,memory.total", "--format=csv,noheader")).strip()
    yield expect(card.run(card.python, "-c", "import torch, sys; print('torch', torch.__version__, 'Python', sys.version.split()[0])")).strip()
    yield last_lines(card.run(card.headroom, "check", "--quiet"), 4)


def virtual_memory(card):
    done = card.run(card.headroom, "test", "--virtual-memory")
    yield done.stdout.strip() + done.stderr.strip()
    if done.returncode != 0:
        raise RuntimeError(f"exit {done.returncode}")


def backends(card):
    for words in (("gpu_self_test", "cuda"), ("allocator_backends_test", "--gtest_filter=*/cuda", "--gtest_brief=1")):
        if (card.folder / "tests" / words[0]).exists():
            yield f"{words[0]}: " + last_lines(card.run(card.folder / "tests" / words[0], *words[1:]), 14)


def slots(card):
    found = card.run(card.python, PROGRAMS / "who_allocates.py", "here")
    yield "unchanged: " + last_lines(found, 1)
    yield expect(card.script("headroom", PROGRAMS / "who_allocates.py", "here")).strip()


def trainers(card):
    for kind in ("trainer", "lora"):
        results = {}
        for allocator in ("native", "native", "headroom", "plain memory"):
            text = expect(card.script(allocator, PROGRAMS / "ordinary_training.py", kind, "gpu"))
            results.setdefault(allocator, []).append(re.search(r"^loss \S+ weights \w+$", text, re.M)[0])
        equal = len({one for of_one in results.values() for one in of_one}) == 1
        yield f"{kind}: {'equal to the last bit' if equal else results}"


def split(card):
    program = PROGRAMS / "split_story.py"
    ample = expect(card.script("native", program))
    peak = int(re.search(r"^peak (\d+)$", ample, re.M)[1])
    yield "ample: " + " | ".join(ample.strip().splitlines()[-2:])
    for cap in (peak * 95 // 100, peak * 85 // 100):
        for allocator, mode in (("native", "off"), ("headroom", "on")):
            variables = {} if allocator == "native" else {"split": mode}
            yield f"cap {cap}, {allocator}: " + last_lines(card.script(allocator, OURS / "limited.py", program, REAL_GPU=str(cap), **variables), 3)[:600]


def streams(card):
    for allocator in ("native", "headroom", "plain memory"):
        yield f"{allocator}: " + expect(card.script(allocator, OURS / "streams.py", "600")).strip()


def graphs(card):
    for allocator in ("native", "headroom", "plain memory"):
        yield f"{allocator}: " + expect(card.script(allocator, OURS / "graphs.py", "50")).strip()


def compiled(card):
    for allocator in ("native", "headroom"):
        yield f"{allocator}: " + last_lines(card.script(allocator, OURS / "compiled.py", "20"), 2)[:700]


def figures(text):
    live, reserved = map(int, re.search(r"^peak (\d+) (\d+)", text, re.M).groups())
    seconds = [float(one) for one in re.search(r"^seconds (.*)$", text, re.M)[1].split()]
    return live, reserved, seconds[3:], re.search(r"^loss .*$", text, re.M)[0]


ALLOCATORS = ("native", "expandable", "headroom", "plain memory")


def compare(card, job):
    """Turns of all four with ample memory: what each holds, and the ratio of the same step in neighbouring runs."""
    took, losses, ratios, kept = {}, set(), {one: [] for one in ALLOCATORS}, {}
    for number in range(card.rounds):
        for allocator in ALLOCATORS[:: -1 if number % 2 else 1]:
            live, reserved, took[allocator], loss = figures(expect(card.script(allocator, PROGRAMS / "variable_lengths.py", *job)))
            kept[allocator] = (live, reserved)
            losses.add(loss)
        for allocator in ALLOCATORS:
            ratios[allocator] += [one / other for one, other in zip(took[allocator], took["native"], strict=True)]
    for allocator in ALLOCATORS:
        live, reserved = kept[allocator]
        low, median, high = statistics.quantiles(ratios[allocator], n=4)
        yield (f"{allocator}: live {live / 2**20:.1f} MiB, reserved {reserved / 2**20:.1f} MiB (+{100 * (reserved / live - 1):.1f} %), "
               f"step over native's: median {median:.4f}, quartiles {low:.4f} {high:.4f}; {statistics.median(took[allocator]) * 1e3:.2f} ms")
    yield f"losses: {'equal to the last bit' if len(losses) == 1 else sorted(losses)}"


def busy(card):
    yield from compare(card, BUSY)


def small(card):
    yield from compare(card, SMALL)


def at_the_edge(card):
    """Who finishes at a cap a little above the most that is live, all at once: nothing is timed but by the way."""
    live = figures(expect(card.script("native", PROGRAMS / "variable_lengths.py", *BUSY)))[0]
    running = []
    for percent in (1, 3, 10, 20):
        for allocator in ALLOCATORS:
            words, variables = card.start(allocator, PROGRAMS / "variable_lengths.py", *BUSY, REAL_GPU=str(live * (100 + percent) // 100))
            running.append((percent, allocator, subprocess.Popen(
                [str(word) for word in words], env={**card.base, **variables}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                stderr=subprocess.PIPE, text=True)))
        for at, allocator, process in running[-len(ALLOCATORS):]:
            out, err = process.communicate(timeout=180)
            result = figures(out) if process.returncode == 0 else None
            told = (f"finishes, {statistics.median(result[2]) * 1e3:.1f} ms per step beside the others" if result else
                    "dies: " + (re.findall(r"^\S*(?:OutOfMemoryError|Error)\b.*", err, re.M) or err.strip().splitlines() or ["nothing said"])[-1][:200])
            yield f"+{at} % of {live / 2**20:.1f} MiB, {allocator}: {told}"


PARTS = (the_card, virtual_memory, backends, slots, trainers, split, streams, graphs, compiled, small, busy, at_the_edge)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--python", default="python3")
    parser.add_argument("--only", default="")
    parser.add_argument("--rounds", type=int, default=2)
    arguments = parser.parse_args()
    failed = 0
    with tempfile.TemporaryDirectory() as scratch:
        card = Card(arguments, scratch)
        for part in PARTS:
            if not re.search(arguments.only, part.__name__):
                continue
            begun, lines = time.monotonic(), []
            try:
                for line in part(card):
                    lines.append(line)
            except Exception as problem:  # One part says nothing about the others.
                failed += 1
                lines.append(f"FAILED: {type(problem).__name__}: {problem}")
            print(f"== {part.__name__} ({time.monotonic() - begun:.0f} s)", *lines, sep="\n  ", flush=True)
    return failed != 0


sys.exit(main())
