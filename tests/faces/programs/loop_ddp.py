# SPDX-License-Identifier: Apache-2.0
"""A plain loop with DistributedDataParallel in two processes, of which the first runs out of memory in its third step.

    torchrun --nproc-per-node 2 loop_ddp.py ALLOCATION [AGAIN]     0: it does not; AGAIN: once more, so many allocations later
"""
import contextlib
import os
import sys

import headroom_inject

headroom_inject.arrange()  # As sitecustomize does.

import torch  # noqa: E402
from torch.nn import functional  # noqa: E402

import failing  # noqa: E402
import on_cpu  # noqa: E402
import slots  # noqa: E402
from loop_cases import ROWS, WIDTH, Net, numbers  # noqa: E402

rank = int(os.environ["RANK"])
torch.cuda.set_device(rank)
torch.distributed.init_process_group("gloo")
on_cpu.install()
torch.manual_seed(0)
model = torch.nn.parallel.DistributedDataParallel(Net(dropout=0.1).to("cuda"), device_ids=[rank])
optimizer = torch.optim.SGD(model.parameters(), 0.1)
torch.manual_seed(rank)
fail, again = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else None
for number in range(4):
    before = slots.counts().allocations
    fails = fail and rank == 0 and number == 2
    with failing.at_allocation(fail, again) if fails else contextlib.nullcontext():
        found = model(numbers(number + 10 * rank, ROWS, WIDTH))
        forward = slots.counts().allocations - before
        functional.mse_loss(found, numbers(number + 100, ROWS, WIDTH)).backward()
    if rank == 0 and number == 2:
        print("allocations", forward, slots.counts().allocations - before, flush=True)
    optimizer.step()
    optimizer.zero_grad()
weights = sum(one.detach().double().abs().sum().item() for one in model.parameters())
sys.stdout.write(f"rank {rank} weights {weights}\n")  # In one piece: the other process writes to the same place.
sys.stdout.flush()
torch.distributed.destroy_process_group()
