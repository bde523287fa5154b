#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What only a real GPU can show of headroom's allocator: that it works under the PyTorch that is installed here, what it
saves, and what a step costs. For NVIDIA's cards as for AMD's.

    card.py FOLDER [--python PYTHON] [--only REGEX] [--rounds N]

FOLDER has bin/headroom, lib/ and share/ as `cmake --install` makes them; FOLDER/tests may have gpu_self_test and
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
from concurrent.futures import ThreadPoolExecutor

SOURCE = pathlib.Path(__file__).resolve().parent.parent
PROGRAMS = SOURCE / "tests" / "faces" / "programs"
OURS = SOURCE / "bench" / "card"
# Steps, width, layers, longest sequence: one that keeps the GPU busy, and one that waits for Python and the allocator.
BUSY = ("30", "1024", "12", "2048")
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

    def at_once(self, scripts):
        """{name: what it ended as} of {name: (words, variables) for script()}: none of them is timed."""
        with ThreadPoolExecutor(len(scripts)) as pool:
            running = {name: pool.submit(self.script, *words, **variables) for name, (words, variables) in scripts.items()}
            return {name: one.result() for name, one in running.items()}


def last_lines(done, count=3):
    text = (done.stdout + done.stderr).strip().splitlines()
    return f"exit {done.returncode}: " + " | ".join(text[-count:])


def expect(done):
    if done.returncode != 0:
        raise RuntimeError(last_lines(done, 12))
    return done.stdout


def error_in(done):
    """The line that names a Python program's error, and what headroom says of it."""
    lines = (done.stderr or "nothing said").strip().splitlines()
    named = [line for line in lines if re.match(r"\S*(OutOfMemoryError|Error)\b", line)] or lines[-1:]
    return f"exit {done.returncode}: {named[-1][:160]}"


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
    scripts = {one: ((one, PROGRAMS / "who_allocates.py", "here"), {}) for one in ("native", "headroom", "plain memory")}
    for allocator, done in card.at_once(scripts).items():
        expected = "here: PyTorch's own" if allocator == "native" else "here: headroom"
        if expected not in expect(done):
            raise RuntimeError(f"{allocator}: {last_lines(done)}")
    yield "PyTorch allocates from headroom"


def trainers(card):
    scripts = {(kind, allocator, turn): ((allocator, PROGRAMS / "ordinary_training.py", kind, "gpu"), {})
               for kind in ("trainer", "lora") for turn, allocator in enumerate(("native", "native", "headroom", "plain memory"))}
    done = card.at_once(scripts)
    for kind in ("trainer", "lora"):
        results = {name[1:]: re.search(r"^loss \S+ weights \w+$", expect(one), re.M)[0] for name, one in done.items() if name[0] == kind}
        yield f"{kind}: {'equal to the last bit' if len(set(results.values())) == 1 else results}"


def split(card):
    ample = expect(card.script("native", OURS / "split.py"))
    peak = int(re.search(r"^peak (\d+)$", ample, re.M)[1])
    yield "ample: " + " | ".join(ample.strip().splitlines()[-2:])
    scripts = {}
    for percent in (90, 70, 50):
        for allocator, variables in (("native", {}), ("headroom", {"split": "on"})):
            scripts[percent, allocator] = ((allocator, OURS / "limited.py", OURS / "split.py"),
                                           {"REAL_GPU": str(peak * percent // 100), **variables})
    for (percent, allocator), done in card.at_once(scripts).items():
        told = " | ".join(done.stdout.strip().splitlines()[-2:]) if done.returncode == 0 else error_in(done)
        said = [line for line in done.stderr.splitlines() if line.startswith("headroom:")]
        yield f"{percent} % of the peak, {allocator}: {told} {said[:2]}"


def streams_and_graphs(card):
    scripts = {(what, allocator): ((allocator, OURS / f"{what}.py", count), {})
               for what, count in (("streams", "600"), ("graphs", "50"), ("compiled", "20"))
               for allocator in ("native", "headroom", "plain memory")}
    for (what, allocator), done in card.at_once(scripts).items():
        found = re.search(rf"^{what} .*$", done.stdout, re.M)
        yield f"{what}, {allocator}: {found[0] if found and done.returncode == 0 else last_lines(done, 4)[:700]}"


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


def small(card):
    yield from compare(card, SMALL)


def busy(card):
    yield from compare(card, BUSY)


def at_the_edge(card):
    """Who finishes at a cap a little above the most that is live. Four run at once: no figures of time but beside each other."""
    live = figures(expect(card.script("native", PROGRAMS / "variable_lengths.py", *BUSY)))[0]
    for percent in (1, 3, 10):
        scripts = {one: ((one, PROGRAMS / "variable_lengths.py", *BUSY), {"REAL_GPU": str(live * (100 + percent) // 100)})
                   for one in ALLOCATORS}
        for allocator, done in card.at_once(scripts).items():
            told = f"finishes, {statistics.median(figures(done.stdout)[2]) * 1e3:.1f} ms a step" if done.returncode == 0 else error_in(done)
            yield f"+{percent} % of {live / 2**20:.1f} MiB, {allocator}: {told}"


PARTS = (the_card, virtual_memory, backends, slots, trainers, split, streams_and_graphs, at_the_edge, small, busy)


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
