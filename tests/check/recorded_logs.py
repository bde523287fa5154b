#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Recorded logs that are kept outside the repository: scored if they are there, skipped with the reason if not.

    recorded_logs.py FOLDER_OF_PROGRAMS SHARED_FOLDER      exit 0: the bar is met; 1: it is not; 77: skipped

The bar, for each set that is there: 97 % of the root causes right, no innocent machine blamed, Brier score at most
0.07, and no wrong answer given with a confidence of 0.8 or more.
"""
import os
import pathlib
import re
import subprocess
import sys

programs, shared = map(pathlib.Path, sys.argv[1:])
scorer = shared / "score_cases.py"
sets = [shared / name for name in ("cases", "cases_round2") if (shared / name).is_dir()]
if not scorer.exists() or not sets:
    print(f"skipped: no recorded logs in {shared}")
    sys.exit(77)


def meets_the_bar(cases):
    run = subprocess.run([sys.executable, scorer, programs / "headroom", cases], capture_output=True, text=True,
                         env={**os.environ, "HEADROOM_CASES_BAR": "0.97"})
    print(f"{cases.name}: {run.stdout}", end="")
    figures = re.search(r"Brier ([\d.]+), sure and wrong: (\d+)", run.stdout)
    if run.returncode != 0 or not figures:
        return False
    return float(figures[1]) <= 0.07 and int(figures[2]) == 0


sys.exit(0 if all([meets_the_bar(one) for one in sets]) else 1)
