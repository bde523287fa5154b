#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`headroom plan` on jobs that were measured on a real GPU. usage: card_peaks.py BIN_DIR

card_peaks.jsonl: three steps each on an NVIDIA H100 80GB (driver 580.159), PyTorch 2.11.0+cu130 and transformers 5.17, random weights,
cuDNN off: torch.cuda.max_memory_allocated() and max_memory_reserved(), and the peak of each phase.
"""
import json
import pathlib
import statistics
import subprocess
import sys

binary = pathlib.Path(sys.argv[1]) / "headroom"
rows = [json.loads(line) for line in (pathlib.Path(__file__).parent / "card_peaks.jsonl").read_text().splitlines()]
MEDIAN, USUAL, WORST = 0.0005, 0.005, 0.03
# Generating in fp32 takes up to 2.3 % more than planned, by kernels that were not looked into.
UNUSUAL = {"gen-qwen05-fp32-sdpa", "gen-gpt2m-fp32-eager"}


def plan(job):
    run = subprocess.run([binary, "plan", "--spec", "-", "--json"], input=json.dumps(job), capture_output=True, text=True)
    return json.loads(run.stdout)["allocated_bytes"]


errors = {row["id"]: plan(row["job"]) / row["allocated_bytes"] - 1 for row in rows}
for name, error in sorted(errors.items(), key=lambda one: -abs(one[1])):
    print(f"{name:26} {error:+.3%}")
sizes = {name: abs(error) for name, error in errors.items()}
median = statistics.median(sizes.values())
print(f"{len(rows)} jobs, median {median:.3%}, worst {max(sizes.values()):.2%}")
beyond = {name for name, size in sizes.items() if size > USUAL}
if median > MEDIAN or max(sizes.values()) > WORST or not beyond <= UNUSUAL:
    print(f"expected a median of {MEDIAN:.2%}, {USUAL:.1%} but for {sorted(UNUSUAL)} and {WORST:.0%} at most; beyond: {sorted(beyond)}")
    sys.exit(1)
