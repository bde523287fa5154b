#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`headroom plan` on steps of TRL's trainers, beside what PyTorch allocated for them. usage: preference_peaks.py BIN_DIR

preference_peaks.jsonl: three steps each of TRL's own DPOTrainer and GRPOTrainer (1.16.0; rows with "-trl1.6": 1.6.0) with PyTorch 2.15.0,
transformers 5.23.0, PEFT 0.21.2 and accelerate 1.15.0 on a GPU that only counts, an A100's: torch.cuda.max_memory_allocated() of each
phase. Published widths, at most six layers; random weights, made-up tokens; cuDNN off. TRL's Triton kernels, which work in place, are not
launched; a generation goes on to its longest answer; what counts the tokens of answers is told their number, because such a GPU reads zeros.
Rows that begin with "blind-" were measured after the rules.
"""
import json
import pathlib
import statistics
import subprocess
import sys

binary = pathlib.Path(sys.argv[1]) / "headroom"
rows = [json.loads(line) for line in (pathlib.Path(__file__).parent / "preference_peaks.jsonl").read_text().splitlines()]
MEDIAN, USUAL, WORST, PHASE = 0.0005, 0.01, 0.04, 0.04
# A checkpoint with adapters stops before its last products are there again; soft caps over all logits (docs/measurements.md).
UNUSUAL = {"blind-dpo-phi3-lora-ckpt", "blind-dpo-gemma2-trl1.6"}


def plan(job):
    run = subprocess.run([binary, "plan", "--spec", "-", "--json"], input=json.dumps(job), capture_output=True, text=True)
    if run.returncode not in (0, 1):
        sys.exit(f"{run.stderr}\nexpected a plan of {json.dumps(job)}")
    return json.loads(run.stdout)


errors, far_phases, miscounted = {}, [], []
for row in rows:
    answer = plan(row["job"])
    errors[row["id"]] = answer["allocated_bytes"] / row["allocated_bytes"] - 1
    if answer["parameters"]["total"] != row["parameters"]:
        miscounted.append(row["id"])
    phases = {name: answer["phases"][name] / real - 1 for name, real in row["phases"].items()}
    far_phases += [f"{row['id']} {name}" for name, error in phases.items() if abs(error) > PHASE]
    print(f"{row['id']:32} {errors[row['id']]:+.3%}   " + "  ".join(f"{name} {error:+.2%}" for name, error in phases.items()))
sizes = {name: abs(error) for name, error in errors.items()}
beyond = {name for name, size in sizes.items() if size > USUAL}
for kind, some in (("all", sizes), ("blind", {name: size for name, size in sizes.items() if name.startswith("blind-")})):
    print(f"{kind}: {len(some)} steps, median {statistics.median(some.values()):.3%}, worst {max(some.values()):.2%}")
if statistics.median(sizes.values()) > MEDIAN or not beyond <= UNUSUAL or max(sizes.values()) > WORST or far_phases or miscounted:
    print(f"expected a median of {MEDIAN:.2%}, {USUAL:.0%} but for {sorted(UNUSUAL)}, {WORST:.0%} at most, "
          f"and every phase within {PHASE:.0%}; found beyond {sorted(beyond)}, phases {far_phases}, parameters miscounted {miscounted}")
    sys.exit(1)
