#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Recorded machines that are kept outside the repository: scored if they are there, skipped with the reason if not.

    recorded_machines.py FOLDER_OF_PROGRAMS SHARED_FOLDER      exit 0: all right; 1: something wrong; 77: skipped
"""
import pathlib
import subprocess
import sys

programs, shared = map(pathlib.Path, sys.argv[1:])
scorer, machines = shared / "score_machines.py", shared / "snapshots"
if not scorer.exists() or not machines.is_dir():
    print(f"skipped: no recorded machines in {shared}")
    sys.exit(77)
sys.exit(subprocess.run([sys.executable, scorer, programs / "headroom", machines]).returncode)
