#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`headroom plan` on pipelines of diffusers, beside what PyTorch allocated for them. usage: diffusion_peaks.py BIN_DIR

diffusion_peaks.jsonl: two steps of whole pipelines of diffusers 0.42.1, with PyTorch 2.15.0, transformers 5.23.0 and accelerate 1.15.0,
on a GPU that only counts, an A100's: torch.cuda.max_memory_allocated() while loading, encoding the prompt, denoising and decoding.
Weights without values; a convolution makes its result and takes no workspace, so the plan's least is what is compared.
"""
import json
import pathlib
import statistics
import subprocess
import sys

binary = pathlib.Path(sys.argv[1]) / "headroom"
rows = [json.loads(line) for line in (pathlib.Path(__file__).parent / "diffusion_peaks.jsonl").read_text().splitlines()]
MEDIAN, USUAL, SHARE, WORST, PHASE = 0.0015, 0.01, 0.95, 0.03, 0.01


def plan(job):
    run = subprocess.run([binary, "plan", "--spec", "-", "--json"], input=json.dumps(job), capture_output=True, text=True)
    if run.returncode not in (0, 1):
        sys.exit(f"{run.stderr}\nexpected a plan of {json.dumps(job)}")
    return json.loads(run.stdout)


errors, phases = {}, []
for row in rows:
    answer = plan(row["job"])
    errors[row["id"]] = answer["allocated_bytes"] / row["allocated_bytes"] - 1
    by_phase = {name: answer["least"]["phases"][name] / real - 1 for name, real in row["phases"].items()}
    phases += by_phase.values()
    shown = "  ".join(f"{name} {error:+.2%}" for name, error in by_phase.items())
    print(f"{row['id']:28} {errors[row['id']]:+.3%}   {shown}")
sizes = [abs(error) for error in errors.values()]
near = sum(size <= USUAL for size in sizes) / len(sizes)
near_phases = sum(abs(error) <= PHASE for error in phases) / len(phases)
print(f"{len(rows)} pipelines, median {statistics.median(sizes):.3%}, worst {max(sizes):.2%}, within {USUAL:.0%}: {near:.0%}; "
      f"{len(phases)} phases, within {PHASE:.0%}: {near_phases:.0%}")
if statistics.median(sizes) > MEDIAN or near < SHARE or max(sizes) > WORST or near_phases < SHARE:
    print(f"expected a median of at most {MEDIAN:.2%}, {SHARE:.0%} of the pipelines and phases within {USUAL:.0%}, none beyond {WORST:.0%}")
    sys.exit(1)
