#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`headroom plan` on adapted embeddings and heads, and on Liger's kernels, beside what PyTorch allocated. usage: kernel_peaks.py BIN_DIR

kernel_peaks.jsonl: three optimizer steps each with PyTorch 2.15.0, transformers 5.23.0, PEFT 0.21.2 and, in rows with "liger-", Liger 0.8.5
on a GPU that only counts, an A100's: torch.cuda.max_memory_allocated() of each phase. Published widths, at most eight layers; random weights;
cuDNN off. Liger's Triton kernels, which allocate nothing themselves, are not launched. Rows that begin with "blind-" were measured after the
rules.
"""
import json
import pathlib
import statistics
import subprocess
import sys

binary = pathlib.Path(sys.argv[1]) / "headroom"
path = pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else pathlib.Path(__file__).parent / "kernel_peaks.jsonl"
rows = [json.loads(line) for line in path.read_text().splitlines()]
MEDIAN, USUAL = 0.0015, 0.01
# A checkpoint with adapters on every layer runs again only where its backward first needs what it let go (docs/measurements.md).
UNUSUAL = {"blind-liger-qwen3-lora-ckpt"}


def plan(job):
    run = subprocess.run([binary, "plan", "--spec", "-", "--json"], input=json.dumps(job), capture_output=True, text=True)
    if run.returncode not in (0, 1):
        sys.exit(f"{run.stderr}\nexpected a plan of {json.dumps(job)}")
    return json.loads(run.stdout)


sizes, miscounted = {}, []
for row in rows:
    answer = plan(row["job"])
    error = answer["allocated_bytes"] / row["allocated_bytes"] - 1
    sizes[row["id"]] = abs(error)
    if (answer["parameters"]["total"], answer["parameters"]["trainable"]) != (row["parameters"], row["trainable"]):
        miscounted.append(row["id"])
    phases = "  ".join(f"{name} {answer['phases'][name] / real - 1:+.2%}" for name, real in row["phases"].items())
    print(f"{row['id']:32} {error:+.3%}   {phases}")
for kind, some in (("all", sizes), ("blind", {name: size for name, size in sizes.items() if name.startswith("blind-")})):
    if some:
        print(f"{kind}: {len(some)} steps, median {statistics.median(some.values()):.3%}, worst {max(some.values()):.2%}")
beyond = {name for name, size in sizes.items() if size > USUAL}
if statistics.median(sizes.values()) > MEDIAN or not beyond <= UNUSUAL or miscounted:
    print(f"expected a median of {MEDIAN:.2%} and {USUAL:.0%} but for {sorted(UNUSUAL)}; found beyond {sorted(beyond)}, "
          f"parameters miscounted {miscounted}")
    sys.exit(1)
