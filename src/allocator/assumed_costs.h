// SPDX-License-Identifier: Apache-2.0
// What device calls are assumed to cost when there is no device to measure. The figures per 2 MiB
// page are vAttention's for an A100 (ASPLOS'25); those of allocate and release are the order of
// magnitude of cudaMalloc and cudaFree, which synchronise the device. Nobody has published figures
// for an AMD GPU.
#pragma once

#include "allocator/backend.h"

namespace headroom::allocator {

// All costs are in nanoseconds.
inline constexpr CallCosts assumed_costs = {.reserve = 2000,
                                            .create = 29000,
                                            .destroy = 23000,
                                            .map = 2000,
                                            .allow_access = 38000,
                                            .unmap = 34000,
                                            .allocate = 50000,
                                            .release = 50000,
                                            .wait = 10000};

}  // namespace headroom::allocator
