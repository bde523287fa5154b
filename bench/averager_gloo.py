#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times torch.distributed's all_reduce over Gloo for averager.py: averager_gloo.py RANKS BYTES... prints one JSON
object. Needs PyTorch. Batches and medians are those of averager_speed."""
import json
import os
import statistics
import sys
import tempfile
import time

import torch
import torch.distributed as distributed

BATCH_BYTES = 64 << 20
BATCHES = 7


def measure(rank, ranks, store, sizes):
    torch.set_num_threads(1)
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    distributed.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=ranks)
    times = {}
    for size in sizes:
        data = torch.ones(size // 4)
        batch = max(1, BATCH_BYTES // size)
        distributed.all_reduce(data)
        taken = []
        for _ in range(BATCHES):
            distributed.barrier()
            begin = time.perf_counter()
            for _ in range(batch):
                distributed.all_reduce(data)
            taken.append((time.perf_counter() - begin) / batch)
        times[str(size)] = statistics.median(taken)
    if rank == 0:
        print(json.dumps(times), flush=True)
    distributed.destroy_process_group()


def main():
    ranks, sizes = int(sys.argv[1]), [int(word) for word in sys.argv[2:]]
    with tempfile.TemporaryDirectory() as folder:
        children = []
        for rank in range(ranks):
            child = os.fork()
            if child == 0:
                measure(rank, ranks, folder + "/store", sizes)
                os._exit(0)
            children.append(child)
        failed = [child for child in children if os.waitpid(child, 0)[1] != 0]
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
