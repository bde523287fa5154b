# SPDX-License-Identifier: Apache-2.0
"""DistributedDataParallel with PowerSGD's hook, whose callbacks ask for collectives themselves, over several buckets. Prints "RANK
BACKEND SHA-1-of-the-weights"."""
import hashlib

import torch
import torch.distributed as dist
from torch.distributed.algorithms.ddp_comm_hooks import powerSGD_hook
from torch.nn.parallel import DistributedDataParallel

from told import tell

dist.init_process_group("gloo")
rank = dist.get_rank()
torch.manual_seed(0)
layers = [layer for _ in range(6) for layer in (torch.nn.Linear(256, 256), torch.nn.ReLU())]
model = DistributedDataParallel(torch.nn.Sequential(*layers), bucket_cap_mb=0.25)
state = powerSGD_hook.PowerSGDState(None, matrix_approximation_rank=1, start_powerSGD_iter=2)
model.register_comm_hook(state, powerSGD_hook.powerSGD_hook)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
numbers = torch.Generator().manual_seed(rank)
for _ in range(20):
    loss = model(torch.randn(8, 256, generator=numbers)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
weights = b"".join(one.detach().numpy().tobytes() for one in model.parameters())
tell(rank, dist.get_backend(), hashlib.sha1(weights).hexdigest())
dist.destroy_process_group()
