# SPDX-License-Identifier: Apache-2.0
"""Real arithmetic on a GPU that is made of this machine's memory: there are no kernels for it, so every operation on "cuda"
tensors runs PyTorch's own kernel for the CPU on the same bytes. What an operation makes comes from CUDA's allocator, as on a
real GPU. Random numbers depend on what a GPU's depend on (Launch). For tests on tests/stand_ins; on a real GPU (REAL_GPU, as bench/card.py sets it) install() does nothing but set the cap."""
import contextlib
import ctypes
import hashlib
import math
import os

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten, tree_map

aten = torch.ops.aten

# What only makes or describes tensors, and touches no bytes.
TOUCHES_NO_BYTES = {
    aten.empty.memory_format, aten.empty_strided.default, aten.empty_like.default, aten.new_empty.default,
    aten.new_empty_strided.default, aten.set_.default, aten.set_.source_Storage, aten.set_.source_Storage_storage_offset,
    aten.resize_.default, aten.record_stream.default, aten._unsafe_view.default, aten._reshape_alias.default,
    aten.detach.default, aten.alias.default, aten.lift_fresh.default, aten.is_pinned.default, aten._pin_memory.default,
}


def is_on_gpu(value):
    return isinstance(value, torch.Tensor) and value.is_cuda


def same_bytes(tensor):
    """A tensor of the CPU's that lies where this one does."""
    storage = tensor.untyped_storage()
    if storage.nbytes() == 0:
        return torch.empty_strided(tensor.size(), tensor.stride(), dtype=tensor.dtype)
    memory = (ctypes.c_char * storage.nbytes()).from_address(storage.data_ptr())
    raw = torch.frombuffer(memory, dtype=torch.uint8).untyped_storage()
    return torch.empty(0, dtype=tensor.dtype).set_(raw, tensor.storage_offset(), tensor.size(), tensor.stride())


def take_launch(device, count):
    """Seed and offset of this GPU's generator, which then stands where a kernel for `count` elements leaves it."""
    torch.cuda.init()
    generator = torch.cuda.default_generators[torch.cuda.current_device() if device.index is None else device.index]
    state = generator.get_state()
    numbers = state.view(torch.int64)  # Of the CPU's.
    launch = tuple(numbers.tolist())
    numbers[1] += 4 * (count // 4096 + 1)
    generator.set_state(state)
    return launch


@contextlib.contextmanager
def drawing(func, args, tensors, device):
    """While it lasts, the CPU's generator stands for this GPU's. Its numbers depend on seed and offset, and on how large the tensor is
    and how it lies, as those of CUDA's kernels do (aten/src/ATen/native/cuda/Dropout.cu). So some rows, drawn by themselves, get none
    of the numbers that they get in the whole."""
    if torch.Tag.nondeterministic_seeded not in func.tags:
        yield
        return
    shapes = [(tuple(one.shape), one.stride(), one.dtype) for one in tensors] or [tuple(one) for one in args if isinstance(one, (list, tuple))]
    count = max(one.numel() for one in tensors) if tensors else math.prod(shapes[0]) if shapes else 1
    before, launch = torch.get_rng_state(), repr((func, shapes, take_launch(device, count)))
    torch.default_generator.manual_seed(int.from_bytes(hashlib.sha256(launch.encode()).digest()[:7], "big"))
    try:
        yield
    finally:
        torch.set_rng_state(before)


class Call:
    """One operation: its operands as the CPU sees them, and what came of it as the GPU's."""

    def __init__(self, device):
        self.device = device
        self.pairs = {}  # id of a tensor of the GPU's → (itself, its twin on the CPU)

    def to_cpu(self, value):
        if is_on_gpu(value):
            return self.pairs.setdefault(id(value), (value, same_bytes(value)))[1]
        if isinstance(value, torch.Generator):
            return None  # The CPU's own.
        if isinstance(value, torch.device) and value.type == "cuda":
            return torch.device("cpu")
        return value

    def to_gpu(self, result):
        if not isinstance(result, torch.Tensor):
            return result
        for original, twin in self.pairs.values():
            if result is twin:
                return original
            if result.numel() and result.untyped_storage().data_ptr() == twin.untyped_storage().data_ptr():
                return torch.as_strided(original, result.size(), result.stride(), result.storage_offset())
        if self.device.type != "cuda":
            return result
        made = torch.empty_strided(result.size(), result.stride(), dtype=result.dtype, device=self.device)
        if result.numel():
            same_bytes(made).copy_(result)
        return made


class OnCpu(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = dict(kwargs or {})
        on_gpu = [value for value in tree_flatten((args, kwargs))[0] if is_on_gpu(value)]
        wanted = torch.device(kwargs["device"]) if kwargs.get("device") is not None else None
        concerns_gpu = bool(on_gpu) or (wanted is not None and wanted.type == "cuda")
        if not concerns_gpu or func in TOUCHES_NO_BYTES or func.is_view:
            return func(*args, **kwargs)
        torch.cuda.synchronize()  # What is queued comes before what is computed here.
        call = Call(wanted or on_gpu[0].device)
        on_cpu, named = tree_map(call.to_cpu, args), tree_map(call.to_cpu, kwargs)
        if wanted is not None:
            named["device"] = torch.device("cpu")
            if wanted.type == "cuda":
                named.pop("pin_memory", None)
        with drawing(func, args, on_gpu, call.device):
            result = func(*on_cpu, **named)
        return tree_map(call.to_gpu, result)


def limit_real_gpu(most_bytes):
    """The most that tensors may take of a real GPU; 0: all of it."""
    if most_bytes:
        torch.cuda.set_per_process_memory_fraction(most_bytes / torch.cuda.get_device_properties(0).total_memory)


def install():
    """From now on, for this process. Attention takes the way that is made of plain operations."""
    if "REAL_GPU" in os.environ:
        return limit_real_gpu(int(os.environ["REAL_GPU"]))
    torch.backends.cuda.enable_flash_sdp(False)
    torch.backends.cuda.enable_mem_efficient_sdp(False)
    torch.backends.cuda.enable_cudnn_sdp(False)
    mode = OnCpu()
    mode.__enter__()
    return mode
