#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Recorded logs that are kept outside the repository: scored if they are there, skipped with the reason if not.

    recorded_logs.py FOLDER_OF_PROGRAMS SHARED_FOLDER      exit 0: the bar is met; 1: it is not; 77: skipped

The bar: 42 of 45 root causes right, no innocent machine blamed, Brier score at most 0.10, and no wrong answer given
with a confidence of 0.8 or more.
"""
import os
import pathlib
import re
import subprocess
import sys

programs, shared = map(pathlib.Path, sys.argv[1:])
scorer, cases = shared / "score_cases.py", shared / "cases"
if not scorer.exists() or not cases.is_dir():
    print(f"skipped: no recorded logs in {shared}")
    sys.exit(77)
run = subprocess.run([sys.executable, scorer, programs / "headroom", cases], capture_output=True, text=True,
                     env={**os.environ, "HEADROOM_CASES_BAR": "0.933"})
print(run.stdout, end="")
figures = re.search(r"Brier ([\d.]+), sure and wrong: (\d+)", run.stdout)
if run.returncode != 0 or not figures:
    sys.exit(1)
sys.exit(0 if float(figures[1]) <= 0.10 and int(figures[2]) == 0 else 1)
