#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs that behave badly, under `headroom run`: none of their processes outlives the run, their exit code is kept,
and both streams arrive complete and in order. A sample of the seeds; all of them with HEADROOM_TEST_ALL=1.

    unruly_test.py FOLDER_OF_PROGRAMS [SEED…]
"""
import hashlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import uuid

from unruly import LIMIT, pieces, plan_of

PROGRAMS = pathlib.Path(sys.argv[1])
UNRULY = pathlib.Path(__file__).with_name("unruly.py")
SEEDS = [int(seed) for seed in sys.argv[2:]] or range(200 if os.environ.get("HEADROOM_TEST_ALL") == "1" else 8)
PATIENCE_S = 120


def carrying(cookie):
    """The processes that have the cookie in their environment, zombies left out."""
    found = []
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if cookie.encode() in (folder / "environ").read_bytes():
                found.append(int(folder.name))
        except OSError:
            continue  # It ended meanwhile.
    return found


def digest(chunks):
    whole = hashlib.sha256()
    for chunk in chunks:
        whole.update(chunk)
    return whole.hexdigest()


def look(seed, folder):
    """What was wrong with the run of one seed."""
    plan, cookie = plan_of(seed), str(uuid.uuid4())
    report, output = folder / "report.json", {}
    with open(folder / "stdout", "wb") as out, open(folder / "stderr", "wb") as errors:
        done = subprocess.run(
            [PROGRAMS / "headroom", "run", "--quiet", "--grace", "0.3", "--memory", str(LIMIT), "--report", report, "--",
             sys.executable, "-IS", UNRULY, str(seed)],
            stdout=out, stderr=errors, stdin=subprocess.DEVNULL, timeout=PATIENCE_S,
            env={**os.environ, "HEADROOM_TEST_COOKIE": cookie, "XDG_STATE_HOME": str(folder / "state")})
    problems = []
    deadline = time.monotonic() + 1
    while (left := carrying(cookie)) and time.monotonic() < deadline:
        time.sleep(0.05)
    if left:
        problems.append(f"{len(left)} processes outlived it: {left}")
        for pid in left:
            os.kill(pid, 9)
    how, number = plan["end"]
    ran_out = plan["fill"] == 2 * LIMIT
    code = number if how == "exit" else 128 + number
    told = json.loads(report.read_text())
    by_headroom = told["attempts"][-1]["ended_by"] == "headroom"  # It added up itself.
    if done.returncode != code and not (ran_out and by_headroom and done.returncode == 1):
        problems.append(f"exit code {done.returncode}, expected {code}")
    if ran_out and (told["attempts"][-1]["cause"] or {}).get("id") != "cgroup-memory-limit":
        problems.append(f"cause {told['attempts'][-1]['cause']}, expected cgroup-memory-limit")
    for stream in ("stdout", "stderr"):
        found = (folder / stream).read_bytes()
        expected = digest(pieces(seed, stream, plan[stream]))
        head = found[:plan[stream]]  # headroom itself may add lines about a failure to stderr, behind it.
        if digest([head]) != expected or (stream == "stdout" and len(found) != plan[stream]):
            problems.append(f"{stream}: {len(found)} bytes came of {plan[stream]}, or others")
    if any(not one["ended"] for one in told["left_behind"]):
        problems.append(f"left behind: {told['left_behind']}")
    return [f"seed {seed} ({plan}): {problem}" for problem in problems]


def main():
    problems = []
    for seed in SEEDS:
        with tempfile.TemporaryDirectory(prefix="headroom-unruly-") as folder:
            problems += look(seed, pathlib.Path(folder))
    for problem in problems:
        print(problem)
    print(f"{len(SEEDS)} programs, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
