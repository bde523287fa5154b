// SPDX-License-Identifier: Apache-2.0
// libtorch's memory on a GPU, taken from functions of ours: what
// torch.cuda.change_current_allocator does in Python (torch/csrc/cuda/CUDAPluggableAllocator.h).
// The functions behind it are looked up by name while the program runs, so that the same source
// builds against a libtorch for the processor, for CUDA and for ROCm, without the headers of any
// GPU's runtime.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>

#include "allocator/backends/gpu_list.h"
#include "base/result.h"

namespace headroom::trainer {

// Whether this libtorch sees a GPU.
bool has_gpu();

// What this libtorch's GPUs are driven by, where its allocator can be replaced.
std::optional<allocator::GpuRuntime> replaceable_gpu_runtime();

struct GpuMemoryFunctions {
  std::function<void*(std::size_t bytes)> allocate;  // May throw what libtorch is to pass on.
  std::function<void(void* address)> free;           // Any thread may call it.
};

// From here on, until the process ends. Fails where no allocator can be replaced. Throws what
// libtorch throws, for instance where a tensor has been on a GPU before. The functions are called
// until the process ends.
Status replace_gpu_allocator(GpuMemoryFunctions functions);

}  // namespace headroom::trainer
