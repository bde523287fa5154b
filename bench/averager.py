#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures the averager beside Gloo, Open MPI and memcpy, in one run, and kills ranks at random.

    averager.py PROGRAMS [--python PYTHON] [--rounds N] [--kills N] [--sizes MIB,...] [--json]

PROGRAMS is the folder of averager_speed and averager_mpi. Every program times every size; that is done in
turn for --rounds rounds, and each figure is the best of them. A peer that is not there is null.
"""
import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).parent
MIB = 1 << 20


def times_of(command, environment=None):
    """{bytes: seconds} as the command prints it; {} if it fails or is not there."""
    if command[0] is None or not (os.path.exists(command[0]) or shutil.which(command[0])):
        return {}
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **(environment or {})}, check=False)
    if done.returncode != 0:
        print(f"{command[0]} failed: {done.stderr.strip()[-300:]}", file=sys.stderr)
        return {}
    return {int(size): seconds for size, seconds in json.loads(done.stdout.strip().splitlines()[-1]).items()}


def measure(options, ranks, sizes):
    words = [str(size) for size in sizes]
    speed, mpi = options.programs / "averager_speed", options.programs / "averager_mpi"
    alone = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    commands = {
        "floor_s": ([str(speed), "memcpy", str(ranks), *words], None),
        "in_segment": ([str(speed), "average", str(ranks), *words], None),
        "copied": ([str(speed), "copied", str(ranks), *words], None),
        "gloo_s": ([options.python, str(HERE / "averager_gloo.py"), str(ranks), *words], None),
        # --mca btl: shared memory alone.
        "mpi_s": (["mpirun", "--oversubscribe", "--mca", "btl", "self,vader", "-n", str(ranks), str(mpi), *words]
                  if mpi.exists() else [None], alone),
    }
    best = {name: {} for name in commands}
    for _ in range(options.rounds):
        for name, (command, environment) in commands.items():
            for size, seconds in times_of(command, environment).items():
                best[name][size] = min(seconds, best[name].get(size, seconds))
    rows = []
    for size in sizes:
        for in_segment in (True, False):
            rows.append({"bytes": size, "ranks": ranks, "in_segment": in_segment,
                         "headroom_s": best["in_segment" if in_segment else "copied"].get(size),
                         **{peer: best[peer].get(size) for peer in ("gloo_s", "mpi_s", "floor_s")}})
    return rows


def ratio(row, above, below):
    return f"{row[above] / row[below]:.2f}" if row[above] and row[below] else "-"


def print_table(rows, kills):
    print(f"{'MiB':>5} {'ranks':>5} {'where':>10} {'ms':>9} {'Gloo ÷':>7} {'MPI ÷':>7} {'÷ floor':>7}   wanted: ≥ 3, ≥ 1.5, ≤ 2 (copied: ≤ 3)")
    for row in rows:
        taken = f"{row['headroom_s'] * 1e3:9.3f}" if row["headroom_s"] else "        -"
        print(f"{row['bytes'] / MIB:5.0f} {row['ranks']:5} {'in segment' if row['in_segment'] else 'copied':>10} {taken} "
              f"{ratio(row, 'gloo_s', 'headroom_s'):>7} {ratio(row, 'mpi_s', 'headroom_s'):>7} {ratio(row, 'headroom_s', 'floor_s'):>7}")
    print(f"kills: {kills['tried']} tried, {kills['hung']} hung, {kills['wrong']} wrong, {kills['left_behind']} left behind")


def main():
    parser = argparse.ArgumentParser(description="the averager beside Gloo, Open MPI and memcpy")
    parser.add_argument("programs", type=pathlib.Path)
    parser.add_argument("--python", default=None, help="a Python with PyTorch, for Gloo")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--sizes", default="1,4,16,64,256", help="in MiB")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    sizes = [int(word) * MIB for word in options.sizes.split(",")]
    rows = measure(options, 2, sizes)
    if os.cpu_count() >= 4:
        rows += measure(options, 4, sizes)
    kills = {"tried": 0, "hung": 0, "wrong": 0, "left_behind": 0}
    if options.kills:
        kills = json.loads(subprocess.run([str(options.programs / "averager_speed"), "kills", str(options.kills)],
                                          capture_output=True, text=True, check=True).stdout)
    if options.json:
        print(json.dumps({"schema": "headroom.bench.averager/1", "rows": rows, "kills": kills}))
    else:
        print_table(rows, kills)
    return 0


if __name__ == "__main__":
    sys.exit(main())
