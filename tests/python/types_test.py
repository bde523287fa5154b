#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The types of the package `headroom`, by mypy, for every Python that it supports and mypy knows.

    types_test.py SOURCE_FOLDER      exit 77: there is no build/types; ./dev types makes it
"""
import pathlib
import subprocess
import sys

SOURCE = pathlib.Path(sys.argv[1])
PYTHON = SOURCE / "build/types/bin/python"
USE = """\
import headroom
from headroom.allocator import install

verdict: str = headroom.check()["verdict"]
bytes_: int = headroom.plan({"model": {"name": "Qwen/Qwen2.5-0.5B"}}, gpu="MI50")["allocated_bytes"]
headroom.explain(1 << 30, ["python", "train.py"])
install(split="off")
"""
WRONG = "import headroom\nheadroom.plan(3)\nheadroom.check(rot='/')\nversion: int = headroom.version()\n"

if not PYTHON.exists():
    print("there is no build/types; ./dev types makes it")
    sys.exit(77)


def mypy(version, *what):
    return subprocess.run([PYTHON, "-m", "mypy", "--strict", "--ignore-missing-imports", f"--python-version={version}",
                           "--cache-dir=build/types/cache", *what], cwd=SOURCE, env={"MYPYPATH": "python"}, capture_output=True,
                          text=True)


failed = False
for version in ("3.9", "3.10", "3.11", "3.12", "3.13"):
    for what in (["-p", "headroom"], ["-c", USE]):
        done = mypy(version, *what)
        if done.returncode:
            print(f"Python {version}:\n{done.stdout}{done.stderr}")
            failed = True
done = mypy("3.11", "-c", WRONG)
if done.stdout.count(" error: ") != 3:
    print(f"expected three mistakes to be seen, found:\n{done.stdout}{done.stderr}")
    failed = True
sys.exit(1 if failed else 0)
