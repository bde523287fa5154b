# SPDX-License-Identifier: Apache-2.0
"""Every slot does what PyTorch means by it, and an out of memory is PyTorch's own, which Hugging Face's accelerate catches."""
import gc

import torch

import slots

MIB = 1 << 20
calls = slots.install_counted()
assert torch.cuda.is_available() and torch.cuda.device_count() == 2


def tensor(mib, device="cuda"):
    return torch.empty(mib * MIB, dtype=torch.uint8, device=device)


# Allocating, copying, freeing, on both GPUs.
for device in (0, 1):
    there = torch.tensor([1.0, 2.0, 3.0]).to(f"cuda:{device}")
    assert there.cpu().tolist() == [1.0, 2.0, 3.0]
    del there
    assert slots.counts(device).allocations == slots.counts(device).frees == 1

# PyTorch's statistics are headroom's.
one = tensor(3)
assert torch.cuda.memory_allocated() == torch.cuda.max_memory_allocated() == 3 * MIB
del one
assert torch.cuda.memory_allocated() == 0 and torch.cuda.max_memory_allocated() == 3 * MIB
assert torch.cuda.memory_reserved() >= 3 * MIB and "CUDA OOMs: 0" in torch.cuda.memory_summary()
torch.cuda.reset_peak_memory_stats()
stats = torch.cuda.memory_stats()
assert stats["allocated_bytes.all.peak"] == 0 and stats["allocation.all.allocated"] == 2
torch.cuda.reset_accumulated_memory_stats()
assert torch.cuda.memory_stats()["allocation.all.allocated"] == 0
assert torch.cuda.memory_snapshot()

# An out of memory, and what is said of it.
kept = tensor(300)
try:
    tensor(300)
    raise AssertionError("there is no room for both")
except torch.OutOfMemoryError as error:
    text = str(error)
assert text.startswith("CUDA out of memory. Tried to allocate 300.00 MiB on GPU 0"), text
assert "300.0 MiB =      1 x  300.0 MiB" in text and "says cuMemGetInfo" in text, text
from accelerate.utils.memory import should_reduce_batch_size  # noqa: E402

try:
    tensor(300)
except RuntimeError as error:
    assert should_reduce_batch_size(error)
assert slots.counts().out_of_memory == 2
del kept
gc.collect()

# empty_cache gives idle memory back, a fraction limits it.
idle = torch.cuda.mem_get_info()[0]
torch.cuda.empty_cache()
assert torch.cuda.mem_get_info()[0] >= idle + 300 * MIB
torch.cuda.set_per_process_memory_fraction(0.25)
try:
    tensor(200)
    raise AssertionError("a quarter of 512 MiB is less")
except torch.OutOfMemoryError:
    pass
torch.cuda.set_per_process_memory_fraction(1.0)

# A block that another stream uses is not given away before that stream is done. Nothing here waits for it.
side = torch.cuda.Stream()
used = tensor(8)
address = used.data_ptr()
with torch.cuda.stream(side):
    used.zero_()
used.record_stream(side)
del used
assert tensor(8).data_ptr() != address

# A graph's private pool: its memory is nobody else's while the graph lives.
graph = torch.cuda.CUDAGraph()
capture = torch.cuda.Stream()
with torch.cuda.graph(graph, stream=capture):
    inside = tensor(4)
    place = inside.data_ptr()
    del inside
with torch.cuda.stream(capture):
    assert all(tensor(4).data_ptr() != place for _ in range(20))
graph.replay()
torch.cuda.synchronize()
graph.reset()
del graph

# Sharing by CUDA IPC is refused. PyTorch 2.4 asks where the block begins before; later ones know by then that it is refused.
shared = tensor(1)
try:
    shared.untyped_storage()._share_cuda_()
    raise AssertionError("the stand-in has no IPC")
except RuntimeError:
    pass

asks_for_bases = tuple(map(int, torch.__version__.split(".")[:2])) < (2, 5)
not_called = {slot for slot, called in calls.items() if called.count() == 0}
assert not_called == (set() if asks_for_bases else {"set_base_alloc_fn"}), not_called
total = slots.counts()
assert total.foreign_frees == 0, total.foreign_frees
print("allocations", total.allocations, "frees", total.frees, "slots called", len(calls) - len(not_called))
