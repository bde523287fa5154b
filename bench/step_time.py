#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How well `headroom plan` predicts the time of an epoch: examples/first-job, and one ten times larger.

    step_time.py BIN_DIR [--chapters N] [--skip-calibration STATE_DIR]

Calibrates (a minute), then plans and trains each job for one epoch, and prints predicted and measured time side by side:
of the steps of an epoch as the clock saw them, and without what their threads waited for a processor. Before and after
each of them a fixed probe says how fast the machine is at that moment: where it differs, so do the ratios. Then both are
planned once more, corrected by those runs. Exit 1 if the first prediction of a job is off by more than 20 % of what was
measured without waiting.

--chapters N takes the first N chapters of the text alone, which makes an epoch shorter (default: all twelve).
"""
import argparse
import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

EXAMPLE = pathlib.Path(__file__).resolve().parent.parent / "examples" / "first-job"
BAR = 0.20
# Ten times the multiplications of the example's layers: 49 M weights in them in place of 4.7 M.
LARGER = {"hidden_size": 640, "intermediate_size": 1920, "num_hidden_layers": 10, "num_attention_heads": 10,
          "num_key_value_heads": 5}


def probe():
    """Seconds that a fixed piece of work takes, of the processor's own time: hashing 32 MiB, and copying 256 MiB."""
    data = bytes(32 << 20)
    figures = []
    for work in (lambda: hashlib.sha256(data).digest(), lambda: [bytearray(data) for _ in range(8)]):
        best = 1e9
        for _ in range(5):
            start = time.process_time()
            work()
            best = min(best, time.process_time() - start)
        figures.append(best)
    return figures


def make_job(folder, name, changes, capacity, chapters):
    job = folder / name
    (job / "text").mkdir(parents=True)
    for chapter in sorted((EXAMPLE / "text").iterdir())[:chapters]:
        shutil.copy(chapter, job / "text")
    config = json.loads((EXAMPLE / "config.json").read_text())
    (job / "config.json").write_text(json.dumps({**config, **changes}))
    text = (EXAMPLE / "job.toml").read_text().replace("epochs = 4", "epochs = 1").replace('"266MiB"', f'"{capacity}"')
    (job / "job.toml").write_text(text)
    return job / "job.toml"


class Programs:
    def __init__(self, folder, state):
        self.folder = folder
        self.environment = {**os.environ, "XDG_STATE_HOME": str(state)}

    def run(self, *words):
        done = subprocess.run([self.folder / "headroom", *map(str, words)], env=self.environment, text=True,
                              stdout=subprocess.PIPE)
        if done.returncode != 0:
            sys.exit(f"headroom {' '.join(map(str, words))} ended with {done.returncode}")
        return done.stdout

    def plan(self, job):
        return json.loads(self.run("plan", job, "--json"))["time"]


def measure(programs, job, output):
    before = probe()
    predicted = programs.plan(job)
    programs.run("run", job, "--output", output, "--quiet")
    timed = json.loads((output / "report.json").read_text())["timed"]
    steps = predicted["steps_per_epoch"]
    return {"predicted": predicted, "wall": timed["elapsed_s"] / timed["steps"] * steps,
            "quiet": timed["quiet_s"] / timed["steps"] * steps, "before": before, "after": probe()}


def drift(result):
    return " and ".join(f"{100 * (after / before - 1):+.0f} %" for before, after in zip(result["before"], result["after"]))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bin_dir", type=pathlib.Path)
    parser.add_argument("--chapters", type=int, default=12)
    parser.add_argument("--skip-calibration", type=pathlib.Path, metavar="STATE_DIR")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        state = folder / "state"
        if arguments.skip_calibration:
            shutil.copytree(arguments.skip_calibration, state)
        programs = Programs(arguments.bin_dir.resolve(), state)
        jobs = {"first-job": make_job(folder, "first-job", {}, "266MiB", arguments.chapters),
                "ten times": make_job(folder, "ten-times", LARGER, "3GiB", arguments.chapters)}
        first = probe()
        if not arguments.skip_calibration:
            start = time.monotonic()
            print(programs.run("test", "--calibrate"))
            print(f"calibrated in {time.monotonic() - start:.0f} s\n")
        print(f"{'job':10} {'predicted':>10} {'range':>17} {'clock':>9} {'ratio':>6} {'without waiting':>16} {'ratio':>6}   "
              "probe: since the calibration, and while it ran")
        missed = False
        for name, job in jobs.items():
            result = measure(programs, job, folder / f"{name}-out")
            time_ = result["predicted"]
            since = " and ".join(f"{100 * (now / then - 1):+.0f} %" for now, then in zip(result["before"], first))
            ratio = time_["epoch_s"] / result["quiet"]
            missed |= abs(ratio - 1) > BAR
            print(f"{name:10} {time_['epoch_s']:8.1f} s {time_['epoch_low_s']:7.1f}…{time_['epoch_high_s']:.1f} s "
                  f"{result['wall']:7.1f} s {time_['epoch_s'] / result['wall']:6.2f} {result['quiet']:14.1f} s {ratio:6.2f}   "
                  f"{since}; {drift(result)}", flush=True)
            corrected = programs.plan(job)["epoch_s"]
            print(f"{'':10} {corrected:8.1f} s corrected by that run: ratio {corrected / result['quiet']:.2f}")
    print(f"\nbar: off by {100 * BAR:.0f} % at most, without waiting: {'missed' if missed else 'kept'}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
