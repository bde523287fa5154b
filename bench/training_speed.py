#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How fast headroom-train is with headroom's allocator, and with libtorch's own, which is malloc's.

    training_speed.py BIN_DIR [--rounds N] [--chapters N]

Trains a few chapters of examples/first-job for one epoch, by turns with each allocator, N times (default 5; a
first run of each is not counted), and prints the median speed of each, the median ratio of neighbours, and
whether the losses of all runs are equal to the last digit. Exit 1 if they are not, or if headroom's is slower.
"""
import argparse
import json
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile

JOB = pathlib.Path(__file__).resolve().parent.parent / "examples" / "first-job"
ALLOCATORS = ("libtorch", "headroom")


def make_job(folder, chapters):
    (folder / "text").mkdir()
    for chapter in sorted((JOB / "text").iterdir())[:chapters]:
        shutil.copy(chapter, folder / "text")
    shutil.copy(JOB / "config.json", folder)
    text = (JOB / "job.toml").read_text().replace("epochs = 4", "epochs = 1")
    (folder / "job.toml").write_text(text)
    return folder / "job.toml"


def train(program, job, output, allocator):
    """Tokens per second, and the loss of every step as it was printed."""
    command = [program, job, "--output", output, "--allocator", allocator, "--quiet", "--json"]
    report = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)
    lines = (output / "metrics.jsonl").read_text().splitlines()
    shutil.rmtree(output)
    return report["tokens_per_s"], [json.loads(line)["loss"] for line in lines]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bin_dir", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--chapters", type=int, default=2)
    arguments = parser.parse_args()
    program = (arguments.bin_dir / "headroom-train").resolve()
    speeds = {allocator: [] for allocator in ALLOCATORS}
    losses = []
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        job = make_job(folder, arguments.chapters)
        for number in range(arguments.rounds + 1):
            # Who goes first changes: what else the machine does is not always to one's cost.
            for allocator in ALLOCATORS[:: 1 if number % 2 else -1]:
                speed, loss = train(program, job, folder / "run", allocator)
                losses.append(loss)
                if number > 0:
                    speeds[allocator].append(speed)
    ratios = [ours / theirs for ours, theirs in zip(speeds["headroom"], speeds["libtorch"])]
    for allocator in ALLOCATORS:
        print(f"{allocator:10} {statistics.median(speeds[allocator]):8.0f} tokens/s, median of {arguments.rounds} "
              f"({min(speeds[allocator]):.0f} to {max(speeds[allocator]):.0f})")
    ratio = statistics.median(ratios)
    print(f"ratio      {ratio:8.3f} median of neighbours ({min(ratios):.3f} to {max(ratios):.3f}); bar: at least 1")
    same = all(loss == losses[0] for loss in losses)
    print(f"losses     {len(losses[0])} steps, {'the same in every run' if same else 'THEY DIFFER'}")
    return 0 if same and ratio >= 1 else 1


if __name__ == "__main__":
    sys.exit(main())
