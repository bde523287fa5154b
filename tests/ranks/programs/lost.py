# SPDX-License-Identifier: Apache-2.0
"""Of three ranks the last is killed; a sum that is divided by three is then the mean of the other two."""
import os
import signal

import torch
import torch.distributed as dist

from told import tell

dist.init_process_group("nccl")
rank = dist.get_rank()
if rank == 2:
    os.kill(os.getpid(), signal.SIGKILL)
tensor = torch.full((3,), float(rank))
dist.all_reduce(tensor)
assert (tensor / 3).tolist() == [0.5] * 3, tensor
tell(rank, dist.get_backend())
os._exit(0)
