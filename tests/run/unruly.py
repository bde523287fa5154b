#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A program that behaves as badly as its seed says: it forks, becomes daemons, ignores signals, changes its group and
session, fills memory, prints a lot, closes its output, and ends in any way. `plan_of` says beforehand what it will do.

    unruly.py SEED
"""
import hashlib
import os
import random
import signal
import sys
import time

MIB = 1 << 20
LIMIT = 128 * MIB  # Of memory; one that is to run out stops at twice as much.
ENDS = [("exit", 0), ("exit", 1), ("exit", 42), ("exit", 255), ("signal", signal.SIGKILL), ("signal", signal.SIGSEGV),
        ("signal", signal.SIGABRT), ("signal", signal.SIGTERM)]
CHILDREN = ["plain", "deaf", "own group", "own session", "daemon", "deaf daemon", "daemon with output", "forking"]
PIECE = 64 << 10


def plan_of(seed):
    dice = random.Random(seed)
    sizes = [0, 1, 4097, MIB + 3, 20 * MIB] + ([100 * MIB] if dice.random() < 0.1 else [])
    plan = {
        "stdout": dice.choice(sizes),
        "stderr": dice.choice([0, 1, 5000, MIB]),
        "children": dice.choices(CHILDREN, k=dice.randint(0, 6)),
        "fill": dice.choice([0, 0, 20 * MIB, 60 * MIB]),
        "closes": dice.random() < 0.2,
        "end": dice.choice(ENDS),
    }
    if dice.random() < 0.15:
        plan.update(fill=2 * LIMIT, end=("signal", signal.SIGKILL))
    return plan


def pieces(seed, stream, size):
    """What it prints on a stream; no two pieces are equal."""
    number = 0
    while size > 0:
        block = hashlib.sha256(f"{seed} {stream} {number}".encode()).digest() * (PIECE // 32)
        yield block[:size]
        size -= PIECE
        number += 1


def write_all(descriptor, data):
    while data:
        data = data[os.write(descriptor, data):]


def close_output():
    for descriptor in (0, 1, 2):
        os.close(descriptor)


def live_on(kind):
    """In the child: becomes what `kind` says, and stays."""
    if "daemon" in kind:
        os.setsid()
        if os.fork():
            os._exit(0)
        if kind != "daemon with output":
            close_output()
    elif kind == "own group":
        os.setpgid(0, 0)
    elif kind == "own session":
        os.setsid()
    elif kind == "forking":  # Never the same process for long.
        while True:
            time.sleep(0.01)
            if os.fork():
                os._exit(0)
    if "deaf" in kind:
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            signal.signal(number, signal.SIG_IGN)
    time.sleep(600)
    os._exit(0)


def fill(size):
    kept = []
    for _ in range(0, size, 4 * MIB):
        kept.append(bytearray(os.urandom(4096)) * (4 * MIB // 4096))
        time.sleep(0.002)
    return kept


def main():
    seed = int(sys.argv[1])
    plan = plan_of(seed)
    for kind in plan["children"]:
        if os.fork() == 0:
            live_on(kind)
    for stream, descriptor in (("stdout", 1), ("stderr", 2)):
        for piece in pieces(seed, stream, plan[stream]):
            write_all(descriptor, piece)
    kept = fill(plan["fill"])
    if plan["fill"] == 2 * LIMIT:
        time.sleep(20)  # Where headroom adds up itself, it looks about once a second.
        os._exit(99)
    if plan["closes"]:
        close_output()
    kept.clear()
    how, number = plan["end"]
    if how == "exit":
        os._exit(number)
    signal.signal(number, signal.SIG_DFL) if number != signal.SIGKILL else None
    os.kill(os.getpid(), number)
    time.sleep(10)


if __name__ == "__main__":
    main()
