# SPDX-License-Identifier: Apache-2.0
"""A plain loop with DistributedDataParallel, 20 steps. Prints "RANK BACKEND SHA-1-of-the-weights".

    data_parallel.py [RANK [leaves]]     that rank is killed in step 12, or leaves as if all were done
"""
import hashlib
import os
import signal
import sys

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from told import tell

dist.init_process_group("gloo")
rank = dist.get_rank()
torch.manual_seed(rank)  # DistributedDataParallel gives all ranks the weights of the first.
model = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.ReLU(), torch.nn.LayerNorm(256), torch.nn.Linear(256, 10))
model = DistributedDataParallel(model)
optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
numbers = torch.Generator().manual_seed(100 + rank)
for step in range(20):
    if step == 12 and sys.argv[1:2] == [str(rank)]:
        if "leaves" in sys.argv:
            os._exit(0)
        os.kill(os.getpid(), signal.SIGKILL)
    images = torch.randn(8, 64, generator=numbers)
    labels = torch.randint(0, 10, (8,), generator=numbers)
    loss = torch.nn.functional.cross_entropy(model(images), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
weights = b"".join(one.detach().numpy().tobytes() for one in model.parameters())
tell(rank, dist.get_backend(), hashlib.sha1(weights).hexdigest())
dist.destroy_process_group()
