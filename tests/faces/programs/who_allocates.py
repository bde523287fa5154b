# SPDX-License-Identifier: Apache-2.0
"""Says whose allocator PyTorch has.

    who_allocates.py          here, as "rank N: headroom"
    who_allocates.py here     the same without a rank
    who_allocates.py spawn    in a process that multiprocessing starts
    who_allocates.py index    and asks for the memory of a GPU that there is not
    who_allocates.py fill     says how much memory there is, takes it all, says how much that was, and lets the error end it
"""
import multiprocessing
import os
import sys

import torch


def allocator():
    kept = torch.empty(1 << 20, dtype=torch.uint8, device="cuda")
    stats = torch.cuda.memory_stats()
    blocks, segments = stats["allocation.all.current"], stats["segment.all.current"]
    del kept
    return "headroom" if (blocks, segments) == (1, 0) else "PyTorch's own"  # Which has a segment for each large block.


def tell(queue):
    queue.put(allocator())


if __name__ == "__main__":
    if sys.argv[1:] == ["spawn"]:
        context = multiprocessing.get_context("spawn")
        queue = context.Queue()
        child = context.Process(target=tell, args=(queue,))
        child.start()
        print("spawned:", queue.get(timeout=300))
        child.join()
    elif sys.argv[1:] == ["here"]:
        print("here:", allocator())
    elif sys.argv[1:] == ["index"]:
        torch.cuda.init()
        try:
            print("index:", torch.cuda.memory_allocated(99))
        except (RuntimeError, AssertionError) as error:
            print("index: refused", type(error).__name__)
    elif sys.argv[1:] == ["fill"]:
        kept = [torch.empty(4 << 20, dtype=torch.uint8, device="cuda")]
        print(f"room {torch.cuda.mem_get_info()[0] >> 20} MiB")
        try:
            while True:
                kept.append(torch.empty(4 << 20, dtype=torch.uint8, device="cuda"))
        finally:
            print(f"filled {4 * len(kept)} MiB", flush=True)
    else:
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
        print(f"rank {os.environ['RANK']}: {allocator()}", flush=True)
