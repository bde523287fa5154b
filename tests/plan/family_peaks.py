#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`headroom plan` on families and settings that nobody had tried, beside what PyTorch allocated for them. usage: family_peaks.py BIN_DIR

family_peaks.jsonl: two steps each (or a prompt and a few tokens) of PyTorch 2.15.0 and transformers 5.23.0 on a GPU that only counts, an
A100's: torch.cuda.max_memory_allocated() and the peak of each phase. Widths are those of published models, layers at most eight; of rows
that begin with "small-" both are small, and there are three steps. Random weights; cuDNN off. Three steps as well where an id begins with
"b-", "c-", "s-" or "t-", of transformers' own Trainer in "t-" and where the optimizer is adamw_8bit; "g-" is transformers' own generate().
"""
import json
import pathlib
import statistics
import subprocess
import sys

binary = pathlib.Path(sys.argv[1]) / "headroom"
rows = [json.loads(line) for line in (pathlib.Path(__file__).parent / "family_peaks.jsonl").read_text().splitlines()]
MEDIAN, USUAL, WORST = 0.0005, 0.01, 0.05
UNUSUAL = set()


def plan(job):
    run = subprocess.run([binary, "plan", "--spec", "-", "--json"], input=json.dumps(job), capture_output=True, text=True)
    if run.returncode not in (0, 1):
        sys.exit(f"{run.stderr}\nexpected a plan of {json.dumps(job)}")
    return json.loads(run.stdout)


errors, miscounted = {}, []
for row in rows:
    answer = plan(row["job"])
    errors[row["id"]] = answer["allocated_bytes"] / row["allocated_bytes"] - 1
    if answer["parameters"]["total"] != row["parameters"]:
        miscounted.append(row["id"])
    shown = "  ".join(f"{name} {answer['phases'][name] / real - 1:+.2%}" for name, real in row["phases"].items())
    print(f"{row['id']:26} {errors[row['id']]:+.3%}   {shown}")
sizes = {name: abs(error) for name, error in errors.items()}
beyond = {name for name, size in sizes.items() if size > USUAL}
median = statistics.median(sizes.values())
print(f"{len(rows)} jobs, median {median:.3%}, worst {max(sizes.values()):.2%}, beyond {USUAL:.0%}: {sorted(beyond)}; parameters miscounted: {miscounted}")
if median > MEDIAN or not beyond <= UNUSUAL or max(sizes.values()) > WORST or miscounted:
    print(f"expected a median of {MEDIAN:.2%}, {USUAL:.0%} but for {sorted(UNUSUAL)}, {WORST:.0%} at most, and every parameter counted")
    sys.exit(1)
