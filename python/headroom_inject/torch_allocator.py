# SPDX-License-Identifier: Apache-2.0
"""Makes headroom's allocator PyTorch's, by the same door as torch.cuda.memory.change_current_allocator()."""
import os

from headroom_inject.library import Library, Unusable
from headroom_inject.memory_calls import replace_memory_calls

# PyTorch's slots (torch/csrc/cuda/CUDAPluggableAllocator.h) and the functions that fill them.
SLOTS = {
    "set_init_fn": "headroom_torch_init",
    "set_reset_fn": "headroom_torch_reset",
    "set_memory_fraction_fn": "headroom_torch_memory_fraction",
    "set_base_alloc_fn": "headroom_torch_base_alloc",
    "set_record_stream_fn": "headroom_torch_record_stream",
    "set_begin_allocate_to_pool": "headroom_torch_begin_allocate_to_pool",
    "set_end_allocate_to_pool_fn": "headroom_torch_end_allocate_to_pool",
    "set_release_pool": "headroom_torch_release_pool",
}


def install(torch, path):
    """Raises if anything is not as expected; PyTorch then has its own allocator, untouched."""
    _expect_room_for_another(torch)
    library = Library(path)
    plug_in = torch.cuda.memory.CUDAPluggableAllocator(path, "headroom_torch_malloc", "headroom_torch_free")
    for slot, function in SLOTS.items():
        setter = getattr(plug_in.allocator(), slot, None)
        if setter is None:
            raise Unusable(f"PyTorch {torch.__version__} has no {slot}; PyTorch 2.4 and later have it")
        setter(library.address(function))
    torch.cuda.memory.change_current_allocator(plug_in)
    replace_memory_calls(torch, library)
    if torch.version.hip:
        torch.cuda._lazy_call(lambda: _name_targets(torch, library))


def _expect_room_for_another(torch):
    if not hasattr(torch._C, "_cuda_customAllocator"):
        raise Unusable(f"PyTorch {torch.__version__} was built without a GPU's code")
    if torch.cuda.is_initialized():
        raise Unusable("expected PyTorch before it uses a GPU, found the GPU in use already")
    for name in ("PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_HIP_ALLOC_CONF"):
        if "backend:cudaMallocAsync" in os.environ.get(name, ""):
            raise Unusable(f"{name} asks for another allocator, backend:cudaMallocAsync; drop that to have headroom's")


def _name_targets(torch, library):
    """Each GPU's own test of virtual memory counts, and is found by its target; HIP tells it once it is initialised."""
    for device in range(torch.cuda.device_count()):
        target = getattr(torch.cuda.get_device_properties(device), "gcnArchName", "")
        library.set_gpu_target(device, target.partition(":")[0])
