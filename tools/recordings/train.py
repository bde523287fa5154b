# SPDX-License-Identifier: Apache-2.0
"""Stands in for a training program in the scene "training": it holds memory in proportion to --batch, and nothing else."""
import sys

batch = int(sys.argv[sys.argv.index("--batch") + 1])
accumulate = int(sys.argv[sys.argv.index("--accumulate") + 1])
print(f"{batch} samples at once, {accumulate} times for each step", flush=True)
held = [bytearray(b"x" * (12 << 20)) for _ in range(batch)]
print(f"step 1: held {len(held) * 12} MiB, the optimizer has seen {batch * accumulate} samples")
