#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a step of training takes with headroom's allocator, beside PyTorch's own: an unchanged script under `headroom run
--allocator`, with the real PyTorch of `./dev venv` on a GPU made of this machine's memory.

    faces.py BUILD_FOLDER [--rounds N] [--steps N]

The runs take turns, with ample memory. Prints, without the first step, by the clock and of processor time, all threads together:
the median ratio of the same step in neighbouring runs, and the ratio of the sums of each step's fastest run, which what else the
machine does can only have slowed down; and whether the losses are equal to the last bit. Exit 1 if they are not.
"""
import argparse
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parent.parent
PROGRAMS = SOURCE / "tests" / "faces" / "programs"
CLOCKS = {"seconds": "by the clock", "processor": "processor time"}
PYTHON = SOURCE / "build" / "venv" / "bin" / "python"


def train(build, folder, allocator, steps):
    """The seconds of each step but the first, by each kind of clock, and the loss as it was printed."""
    gpu = build / "fake_gpu"
    environment = {
        **os.environ, "OMP_NUM_THREADS": "1", "FAKE_GPU_COUNT": "1", "FAKE_GPU_BYTES": str(4 << 30), "XDG_STATE_HOME": folder,
        "XDG_CACHE_HOME": folder, "PYTHONPATH": str(PROGRAMS), "LD_PRELOAD": f"{gpu / 'libcudart.so.13'}:{gpu / 'libcuda.so.1'}",
    }
    by = [build / "bin" / "headroom", "run", "--quiet", "--allocator", "--"] if allocator == "headroom" else []
    done = subprocess.run([*by, PYTHON, PROGRAMS / "variable_lengths.py", str(steps), "512", "8", "512"], env=environment,
                          check=True, stdout=subprocess.PIPE, text=True)
    steps = {kind: [float(one) for one in re.search(rf"^{kind} (.*)$", done.stdout, re.M)[1].split()][1:] for kind in CLOCKS}
    return steps, re.search(r"^loss .*$", done.stdout, re.M)[0]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=12)
    arguments = parser.parse_args()
    if not PYTHON.exists():
        sys.exit("faces: there is no build/venv; ./dev venv makes it")
    build = arguments.build.resolve()
    ratios, losses = {kind: [] for kind in CLOCKS}, set()
    runs = {kind: {"native": [], "headroom": []} for kind in CLOCKS}
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([build / "bin" / "headroom", "test", "--virtual-memory"], stdout=subprocess.DEVNULL, check=False,
                       env={**os.environ, "XDG_CACHE_HOME": folder, "LD_PRELOAD": str(build / "fake_gpu" / "libcuda.so.1")})
        for number in range(arguments.rounds):
            # Who goes first changes: what else the machine does is not always to one's cost.
            took = {}
            for allocator in ("native", "headroom")[:: 1 if number % 2 else -1]:
                took[allocator], loss = train(build, folder, allocator, arguments.steps)
                losses.add(loss)
            for kind in CLOCKS:
                for allocator, steps in took.items():
                    runs[kind][allocator].append(steps[kind])
                ratios[kind] += [ours / theirs for ours, theirs in zip(took["headroom"][kind], took["native"][kind], strict=True)]
    for kind, all_of_it in ratios.items():
        low, median, high = statistics.quantiles(all_of_it, n=4)
        fastest = {allocator: sum(map(min, zip(*steps))) for allocator, steps in runs[kind].items()}
        print(f"headroom over native, {CLOCKS[kind]}, {len(all_of_it)} pairs: median {median:.4f}, quartiles {low:.4f} and {high:.4f}; "
              f"of each step's fastest {fastest['headroom'] / fastest['native']:.4f}")
    print("losses", "equal to the last bit" if len(losses) == 1 else f"DIFFER: {sorted(losses)}")
    return len(losses) != 1


sys.exit(main())
