// SPDX-License-Identifier: Apache-2.0
// Opens one GPU through the CUDA driver, which is loaded at run time. It works in the GPU's primary
// context, which the CUDA runtime, and so every framework, uses.
#pragma once

#include <memory>

#include "allocator/backends/driver.h"

namespace headroom::allocator {

// How many GPUs CUDA has. Fails with unsupported where there is no CUDA driver, or none that finds
// a GPU that it can use.
Result<int> count_cuda_gpus();

// `device` is CUDA's number of the GPU. Fails with unsupported if there is no CUDA driver or no
// such GPU, or if a function is missing.
Result<std::unique_ptr<Driver>> open_cuda(int device);

}  // namespace headroom::allocator
