#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`headroom plan` on jobs whose peaks others have measured. usage: measured_peaks.py BIN_DIR SHARED_DIR"""
import os, pathlib, re, subprocess, sys

binary = pathlib.Path(sys.argv[1]) / "headroom"
shared = pathlib.Path(sys.argv[2])
scorer, peaks = shared / "score_plan.py", shared / "peaks"
if not scorer.exists() or not peaks.exists():
    print(f"skipped: no measured peaks at {shared}")
    sys.exit(77)

# What the device shows is aimed at 5 %: docs/measurements.md says where the rest lies.
MEDIAN, WORST, LOOSE_MEDIAN, DEVICE_MEDIAN = 0.005, 0.02, 0.03, 0.10
environment = dict(os.environ, HEADROOM_PLAN_MEDIAN=str(MEDIAN), HEADROOM_PLAN_WORST=str(WORST))
run = subprocess.run([sys.executable, scorer, binary, peaks], capture_output=True, text=True, env=environment)
print(run.stdout, run.stderr)


def median(kind):
    found = re.search(rf"^{kind}: \d+ rows, median ([\d.]+)%", run.stdout, re.MULTILINE)
    return float(found[1]) / 100 if found else None


failures = []
if run.returncode != 0:
    failures.append(f"strict rows: expected a median of {MEDIAN:.1%} and a worst of {WORST:.0%} at most")
for kind, bar in (("loose", LOOSE_MEDIAN), ("device", DEVICE_MEDIAN)):
    if (error := median(kind)) is not None and error > bar:
        failures.append(f"{kind} rows: expected a median of {bar:.0%} at most, found {error:.2%}")
for failure in failures:
    print(failure)
sys.exit(1 if failures else 0)
