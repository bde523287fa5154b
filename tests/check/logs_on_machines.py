#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Recorded logs together with recorded machines, which are kept outside the repository: skipped if they are not there.

    logs_on_machines.py FOLDER_OF_PROGRAMS SHARED_FOLDER      exit 0: all hold; 1: one does not; 77: skipped

For any log on any machine, the shares of all answers are parts of a whole, none stands above the cause, and nothing is
said with more than 0.75 while a line speaks against it. What both say alone, both say together. A seeded sample of the
pairs is tried; all of them with HEADROOM_TEST_ALL=1.
"""
import concurrent.futures
import functools
import json
import os
import pathlib
import random
import subprocess
import sys

programs, shared = map(pathlib.Path, sys.argv[1:])
machines = [one.parent for one in sorted(shared.glob("snapshots/*/MANIFEST.json")) if (one.parent / "sys").is_dir()]
logs = [one.parent for name in ("cases", "cases_round2") for one in sorted(shared.glob(f"{name}/*/truth.json"))]
if not machines or not logs:
    print(f"skipped: no recorded logs and machines in {shared}")
    sys.exit(77)


def check(*arguments):
    run = subprocess.run([programs / "headroom", "check", "--json", *arguments], capture_output=True, text=True, timeout=60)
    return json.loads(run.stdout)


@functools.cache
def cause_alone(*arguments):
    return (check(*arguments).get("cause") or {}).get("id")


def faults_of(log, machine):
    of_log = ["--log", log / "log.txt", "--stated", log / "facts.json"]
    both, rounding = check(*of_log, "--root", machine), 0.005
    cause, others = both.get("cause"), both.get("runners_up") or []
    if not cause:
        return []
    sure, faults = cause["confidence"], []
    if sure + sum(one["confidence"] for one in others) > 1 + rounding * (len(others) + 1):
        faults.append("the shares are more than the whole")
    if any(one["confidence"] > sure for one in others):
        faults.append("an alternative stands above the cause")
    if sure > 0.75 and any(one.startswith("Against it: ") for one in cause["reasons"]):
        faults.append("it is sure although a line speaks against it")
    alone = {cause_alone(*of_log), cause_alone("--root", machine)}
    if len(alone) == 1 and cause["id"] not in alone:
        faults.append(f"both say {alone} alone, and {cause['id']} together")
    return faults


pairs = [(log, machine) for log in logs for machine in machines]
if os.environ.get("HEADROOM_TEST_ALL") != "1":
    pairs = random.Random(17).sample(pairs, min(24, len(pairs)))
with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as threads:
    of_pairs = list(threads.map(lambda pair: faults_of(*pair), pairs))
found = [f"{log.name} on {machine.name}: {fault}" for (log, machine), all in zip(pairs, of_pairs) for fault in all]
print("\n".join(found) or f"{len(pairs)} pairs hold")
sys.exit(1 if found else 0)
