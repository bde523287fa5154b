# SPDX-License-Identifier: Apache-2.0
"""Two ranks that ask for different things at once, each group for another one: all get an error."""
import torch
import torch.distributed as dist

from told import tell

dist.init_process_group("nccl")
rank = dist.get_rank()
CASES = {
    "shapes": lambda: dist.all_reduce(torch.ones(3 + rank)),
    "types": lambda: dist.all_reduce(torch.ones(4, dtype=(torch.int32, torch.float32)[rank])),
    "operations": lambda: dist.all_reduce(torch.ones(4), op=(dist.ReduceOp.SUM, dist.ReduceOp.MAX)[rank]),
    "collectives": lambda: dist.broadcast(torch.ones(4), 0) if rank else dist.all_reduce(torch.ones(4)),
    "roots": lambda: dist.broadcast(torch.ones(4), rank),
}
for name, call in CASES.items():
    plain, dist.distributed_c10d._world.default_pg = dist.group.WORLD, dist.new_group()  # One that fails stays failed.
    try:
        call()
        tell(name, "passed")
    except RuntimeError as error:
        assert "ask for different collectives" in str(error), error
        tell(name, "refused")
    dist.distributed_c10d._world.default_pg = plain
