#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How fast output passes through `headroom run`, beside cat in the same place; start-up and end included.

    run_rate.py BIN_DIR [--rounds N] [--bytes N]

By turns, N times (default 7), into /dev/null, into a pipe and into a file. Prints for each place the medians and the
median ratio of neighbours (more than 1: faster than cat), and how long a command takes that does nothing.
"""
import argparse
import pathlib
import statistics
import subprocess
import tempfile
import time


def seconds(command):
    begin = time.monotonic()
    subprocess.run(["sh", "-c", command], check=True)
    return time.monotonic() - begin


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("bin_dir", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--bytes", type=int, default=1_000_000_000)
    options = parser.parse_args()
    run = f"'{options.bin_dir.resolve() / 'headroom'}' run --quiet --"
    write = f"head -c {options.bytes} /dev/zero"
    with tempfile.TemporaryDirectory() as scratch:
        places = {"/dev/null": "> /dev/null", "a pipe": "| wc -c > /dev/null", "a file": f"> {scratch}/output"}
        for name, place in places.items():
            pairs = [(seconds(f"{write} | cat {place}"), seconds(f"{run} {write} {place}"))
                     for _ in range(options.rounds)]
            cat, ours = (statistics.median(column) for column in zip(*pairs))
            ratio = statistics.median(one / other for one, other in pairs)
            print(f"into {name}: cat {cat:.2f} s, headroom run {ours:.2f} s, rate {ratio:.2f} of cat's")
    alone = statistics.median(seconds(f"{run} true") for _ in range(options.rounds))
    print(f"a command that does nothing: {alone:.3f} s")


if __name__ == "__main__":
    main()
