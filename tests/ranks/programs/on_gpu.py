# SPDX-License-Identifier: Apache-2.0
"""Collectives on tensors of a GPU each. There are no kernels on the stand-in: copies and the averager's own sums alone."""
import torch
import torch.distributed as dist

from told import tell

dist.init_process_group("nccl")
rank, ranks = dist.get_rank(), dist.get_world_size()
torch.cuda.set_device(rank)
tensor = (torch.arange(5.0) * (rank + 1)).cuda()
dist.all_reduce(tensor)
assert tensor.cpu().tolist() == [3.0 * i for i in range(5)], tensor.cpu()
work = dist.all_reduce(tensor, async_op=True)
work.wait()
assert tensor.cpu().tolist() == [6.0 * i for i in range(5)], tensor.cpu()
whole = torch.empty(4, device="cuda")
dist.all_gather_into_tensor(whole, torch.full((2,), float(rank)).cuda())
assert whole.cpu().tolist() == [0.0, 0.0, 1.0, 1.0], whole.cpu()
copy = torch.arange(4.0).cuda() if rank == 0 else torch.zeros(4).cuda()
dist.broadcast(copy, 0)
assert copy.cpu().tolist() == [0.0, 1.0, 2.0, 3.0], copy.cpu()
large = torch.ones(5_000_000).cuda()
dist.all_reduce(large)
assert bool(large.cpu().eq(2).all())
tell(rank, dist.get_backend(), tensor.device)
dist.destroy_process_group()
