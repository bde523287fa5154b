// SPDX-License-Identifier: Apache-2.0
// Opens one GPU through the HIP runtime, which is loaded at run time.
#pragma once

#include <memory>

#include "allocator/backends/driver.h"

namespace headroom::allocator {

// How many GPUs HIP has. Fails with unsupported where there is no HIP runtime, or none that finds a
// GPU that it can use.
Result<int> count_hip_gpus();

// `device` is HIP's number of the GPU. Fails with unsupported if there is no HIP runtime or no such
// GPU, or if a function is missing.
Result<std::unique_ptr<Driver>> open_hip(int device);

}  // namespace headroom::allocator
