#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What starting a program costs that never uses HIP, with libheadroom_preload.so and without.

    preload_start.py LIB_DIR [--rounds N] [--starts N]

Rounds (default 21) of N starts (default 200) of true(1), with and without by turns. Prints the medians for one start and the
median ratio of neighbours; besides, the same with libheadroom_hip.so itself preloaded.
"""
import argparse
import os
import pathlib
import shutil
import statistics
import time


def seconds(program, starts, library):
    environment = {**os.environ, **({"LD_PRELOAD": str(library)} if library else {})}
    begin = time.monotonic()
    for _ in range(starts):
        _, status = os.waitpid(os.posix_spawn(program, [program], environment), 0)
        assert status == 0, status
    return (time.monotonic() - begin) / starts


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("lib_dir", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=21)
    parser.add_argument("--starts", type=int, default=200)
    options = parser.parse_args()
    program = shutil.which("true")
    for name in ("libheadroom_preload.so", "libheadroom_hip.so"):
        library = (options.lib_dir / name).resolve(strict=True)
        pairs = [(seconds(program, options.starts, None), seconds(program, options.starts, library))
                 for _ in range(options.rounds)]
        without, with_it = (statistics.median(column) * 1e3 for column in zip(*pairs))
        ratio = statistics.median(one / other for other, one in pairs)
        print(f"{name}: {without:.2f} ms without, {with_it:.2f} ms with, ratio {ratio:.2f}")


main()
