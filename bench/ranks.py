#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""All-reduce of torch.distributed through headroom's averager and through Gloo, by turns in one run.

    headroom run --ranks 2 -- build/venv/bin/python bench/ranks.py     with HEADROOM_RANKS_BACKEND=keep

Prints, for each size, the median time of each and the median of the ratios of neighbours.
"""
import statistics
import time

import torch
import torch.distributed as dist

ROUNDS = 15


def timed(group, tensor):
    dist.barrier()
    begun = time.perf_counter()
    dist.all_reduce(tensor, group=group)
    return time.perf_counter() - begun


def main():
    dist.init_process_group("gloo")
    groups = {"gloo": dist.group.WORLD, "headroom": dist.new_group(backend="headroom")}
    for size in (1 << 10, 1 << 20, 25 << 20, 100 << 20):
        tensor = torch.ones(size // 4)
        times = {name: [] for name in groups}
        for _ in range(ROUNDS):
            for name, group in groups.items():
                times[name].append(timed(group, tensor))
        ratio = statistics.median(g / h for g, h in zip(times["gloo"], times["headroom"]))
        if dist.get_rank() == 0:
            print(f"{size >> 10:7} KiB  gloo {statistics.median(times['gloo']) * 1e3:8.2f} ms  "
                  f"headroom {statistics.median(times['headroom']) * 1e3:8.2f} ms  gloo takes {ratio:.2f} times as long", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
