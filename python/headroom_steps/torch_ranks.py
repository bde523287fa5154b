# SPDX-License-Identifier: Apache-2.0
"""What one rank of several does: a sum over all of them, and a small training in DistributedDataParallel and FSDP.

    python headroom_steps rank torch DEVICE METHOD --backend B --rank R --world N --store FILE

It tells its parent (ranks.py) where it is, so that one that waits for ever has a name. All of its numbers are drawn from seeds: each rank
knows what the others have, and what must come out.
"""
import datetime
import time

import torch

from headroom_steps.protocol import failed, passed

LEARNING_RATE = 0.1
STEPS = 2
ROWS, INPUTS, HIDDEN, OUTPUTS = 8, 64, 128, 16
TOLERANCE = 1e-3  # Of the largest output; sums in another order, in 32 bits.
SIZES = (1, 1 << 18, 1 << 24)  # Of 32 bits: a flag, a megabyte, the 64 MiB of large buckets.


def network():
    torch.manual_seed(17)
    return torch.nn.Sequential(torch.nn.Linear(INPUTS, HIDDEN), torch.nn.GELU(), torch.nn.Linear(HIDDEN, OUTPUTS))


def probe(seed):
    """Inputs and what is wanted of them."""
    random = torch.Generator().manual_seed(100 + seed)
    return torch.randn(ROWS, INPUTS, generator=random), torch.randn(ROWS, OUTPUTS, generator=random)


def train(model, batches):
    """Two steps of the mean over all batches; what the model then makes of inputs that it has not seen."""
    optimizer = torch.optim.SGD(model.parameters(), lr=LEARNING_RATE)
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss = sum(torch.nn.functional.mse_loss(model(inputs), wanted) for inputs, wanted in batches) / len(batches)
        loss.backward()
        optimizer.step()
    inputs = probe(99)[0].to(batches[0][0].device)
    with torch.no_grad():
        return model(inputs).to("cpu")


def close_enough(found, wanted, what):
    worst = float((found.double() - wanted.double()).abs().max() / wanted.abs().max())
    if worst <= TOLERANCE:  # False for what is not a number.
        return passed(worst, "relative difference", f"{STEPS} steps of {what}, as on the processor")
    return failed(f"after {STEPS} steps of {what} an output differs from the processor's by {worst:.3g} of the largest", worst,
                  "relative difference", kind="sum")


class Rank:
    def __init__(self, device, options, tell):
        self.device, self.options, self.tell = torch.device(device), options, tell
        self.rank, self.world = options.rank, options.world

    def join(self):
        self.tell("joining")
        if self.device.type == "cuda":
            torch.cuda.set_device(self.device)
        store = torch.distributed.FileStore(self.options.store, self.world)
        torch.distributed.init_process_group(self.options.backend, store=store, rank=self.rank, world_size=self.world,
                                             timeout=datetime.timedelta(hours=1))  # Who waits too long is ended from outside.

    def wait(self):
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)

    def all_reduce(self):
        """Sums of whole numbers, which are exact in whatever order they are added."""
        parts = sum(range(1, self.world + 1))
        seconds = 0.0
        for size in SIZES:
            self.tell(f"all_reduce of {4 * size} bytes")
            place = torch.arange(size, dtype=torch.float32) % 7
            mine = ((self.rank + 1) * place + 1).to(self.device)
            self.wait()
            begin = time.perf_counter()
            torch.distributed.all_reduce(mine)
            self.wait()
            seconds = time.perf_counter() - begin
            found, wanted = mine.to("cpu"), parts * place + self.world
            wrong = (found != wanted).nonzero()
            if len(wrong):
                at = int(wrong[0])
                return failed(f"rank {self.rank} ({self.device}): {len(wrong)} of {size} sums are wrong; the first is {float(found[at]):g} and not "
                              f"{float(wanted[at]):g}", len(wrong), "sums", kind="sum")
        moved = 2 * (self.world - 1) / self.world * 4 * SIZES[-1]
        return passed(moved / seconds / 1e9, "GB/s", f"{self.world} ranks, every sum right")

    def wrapped(self, wrap, what):
        wanted = train(network(), [probe(rank) for rank in range(self.world)])
        self.tell(what)
        model = wrap(network().to(self.device))
        self.tell(f"{what}, training")
        found = train(model, [[one.to(self.device) for one in probe(self.rank)]])
        return close_enough(found, wanted, f"{what} over {self.world} ranks")

    def ddp(self):
        return self.wrapped(torch.nn.parallel.DistributedDataParallel, "DistributedDataParallel")

    def fsdp(self):
        from torch.distributed.fsdp import FullyShardedDataParallel
        return self.wrapped(lambda model: FullyShardedDataParallel(model, device_id=self.device), "FullyShardedDataParallel")

    def run(self, method):
        self.join()
        result = self.all_reduce() if method.startswith("all-reduce") else getattr(self, method)()
        self.tell("leaving", result=result)
        torch.distributed.barrier()  # Who leaves early may keep the others from ending well.
