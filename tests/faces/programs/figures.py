# SPDX-License-Identifier: Apache-2.0
"""An ordinary script that asks for the memory of its tensors, and for more than there is. It knows nothing of headroom.

    figures.py

Prints "equal" once torch.cuda.memory_allocated() and its relatives have told, after each of many steps, the sum of the live
tensors' storage; then "error" with the name and the text of an out of memory; then "batch" with what accelerate's
find_executable_batch_size() came to.
"""
import random

import torch
from accelerate.utils import find_executable_batch_size

MIB = 1 << 20
ROUNDED_TO = 512  # By PyTorch's own allocator too (c10/cuda/CUDACachingAllocator: kMinBlockSize).


def live_bytes(tensors):
    storages = {tensor.untyped_storage().data_ptr(): tensor.untyped_storage().nbytes() for tensor in tensors}
    return sum(-(-size // ROUNDED_TO) * ROUNDED_TO for size in storages.values())


def follow(steps=300):
    choose, kept, peak, made, live_blocks = random.Random(1), [], 0, 0, 0
    torch.cuda.reset_peak_memory_stats()
    for _ in range(steps):
        if kept and choose.random() < 0.45:
            del kept[choose.randrange(len(kept))]
        else:
            kept.append(torch.empty(choose.randrange(1, 1 << choose.randrange(1, 21)), dtype=torch.float32, device="cuda"))
            made += 1
        views = [tensor[:1] for tensor in kept]  # Which have no memory of their own.
        live, live_blocks = live_bytes(kept + views), len(kept)
        peak = max(peak, live)
        stats = torch.cuda.memory_stats()
        found = (torch.cuda.memory_allocated(), torch.cuda.max_memory_allocated(), stats["allocated_bytes.all.current"],
                 stats["active_bytes.all.current"], stats["allocation.all.current"])
        assert found == (live, peak, live, live, live_blocks), (found, live, peak, live_blocks)
        assert torch.cuda.memory_reserved() >= live
    blocks = [block for segment in torch.cuda.memory_snapshot() for block in segment["blocks"]]
    in_snapshot = sum(block["size"] for block in blocks if block["state"] == "active_allocated")
    assert in_snapshot == live_bytes(kept), (in_snapshot, live_bytes(kept))
    print("equal", made)


def run_out():
    kept = torch.empty(300 * MIB, dtype=torch.uint8, device="cuda")
    try:
        torch.empty(301 * MIB, dtype=torch.uint8, device="cuda")
    except torch.OutOfMemoryError as error:
        print("error", type(error).__name__, str(error))
    del kept


@find_executable_batch_size(starting_batch_size=64)
def train(batch_size):
    rows = [torch.empty(24 * MIB, dtype=torch.uint8, device="cuda") for _ in range(batch_size)]
    return batch_size, len(rows)


if __name__ == "__main__":
    torch.cuda.init()
    follow()
    run_out()
    print("batch", *train())
