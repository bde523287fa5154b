# SPDX-License-Identifier: Apache-2.0
"""Every collective of torch.distributed on tensors of several types. Prints "RANK BACKEND" if all are right."""
import torch
import torch.distributed as dist

from told import tell

dist.init_process_group("nccl")
rank, ranks = dist.get_rank(), dist.get_world_size()
everyone = range(ranks)
total = sum(one + 1 for one in everyone)


def check(found, expected):
    assert torch.equal(found, torch.as_tensor(expected, dtype=found.dtype)), (rank, found, expected)


for kind in (torch.float32, torch.bfloat16, torch.float16, torch.float64, torch.int64, torch.int32, torch.uint8):
    tensor = torch.arange(7).to(kind) * (rank + 1)
    dist.all_reduce(tensor)
    check(tensor, torch.arange(7) * total)
for op, expected in (("MAX", ranks), ("MIN", 1), ("PRODUCT", torch.arange(1, ranks + 1).prod().item())):
    tensor = torch.tensor([rank + 1])
    dist.all_reduce(tensor, op=getattr(dist.ReduceOp, op))
    check(tensor, [expected])
tensor = torch.full((3, 4), float(rank + 1)).t()  # Not contiguous.
dist.all_reduce(tensor)
check(tensor, torch.full((4, 3), float(total)))
large = torch.arange(5_000_000, dtype=torch.float32)  # More than is exchanged at once.
work = dist.all_reduce(large, async_op=True)
work.wait()
check(large, torch.arange(5_000_000, dtype=torch.float32) * ranks)
dist.all_reduce(torch.empty(0))

tensor = torch.full((5, 3), float(rank))
dist.broadcast(tensor, 1)
check(tensor, torch.ones(5, 3))
bits = torch.tensor([float("nan"), -0.0, 1e-45]).view(torch.int32)  # What arithmetic would not leave as it is.
copy = bits.clone() if rank == 0 else torch.zeros(3, dtype=torch.int32)
dist.broadcast(copy.view(torch.float32), 0)
check(copy, bits)
tensor = torch.tensor([rank + 1.0])
dist.reduce(tensor, 0)
assert rank or tensor.item() == total

rows = [torch.empty(3, dtype=torch.int64) for _ in everyone]
dist.all_gather(rows, torch.full((3,), rank))
check(torch.stack(rows), [[one] * 3 for one in everyone])
whole = torch.empty(2 * ranks)
dist.all_gather_into_tensor(whole, torch.full((2,), float(rank)))
check(whole, [float(one) for one in everyone for _ in range(2)])
part = torch.empty(2)
dist.reduce_scatter_tensor(part, torch.arange(2.0 * ranks))
check(part, [ranks * 2.0 * rank, ranks * (2.0 * rank + 1)])
dist.reduce_scatter(part, [torch.full((2,), float(one)) for one in everyone])
check(part, [float(ranks * rank)] * 2)
found = [torch.empty(1) for _ in everyone] if rank == 0 else None
dist.gather(torch.tensor([float(rank)]), found, dst=0)
assert rank or [one.item() for one in found] == list(everyone)
dist.scatter(part, [torch.full((2,), float(one)) for one in everyone] if rank == 0 else None, src=0)
check(part, [float(rank)] * 2)
dist.all_to_all_single(whole, torch.arange(2.0 * ranks) + 100 * rank)
check(whole, [100.0 * one + 2 * rank + i for one in everyone for i in range(2)])

objects = [None] * ranks
dist.all_gather_object(objects, {"rank": rank, "text": "x" * rank})
assert [one["rank"] for one in objects] == list(everyone)
words = [f"from {rank}"]
dist.broadcast_object_list(words, src=0)
assert words == ["from 0"]
for count in range(3):
    if rank == 0:
        dist.send(torch.arange(4) * count, 1)
    elif rank == 1:
        tensor = torch.zeros(4, dtype=torch.int64)
        dist.recv(tensor, 0)
        check(tensor, torch.arange(4) * count)
pair = dist.new_group([0, 1])
if rank < 2:
    tensor = torch.ones(3)
    dist.all_reduce(tensor, group=pair)
    check(tensor, [2.0] * 3)
dist.barrier()
tell(rank, dist.get_backend())
dist.destroy_process_group()
