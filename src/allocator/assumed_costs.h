// SPDX-License-Identifier: Apache-2.0
// What calls are taken to cost where no device is there to be measured: vAttention's figures of an
// A100 per 2 MiB page (ASPLOS'25), and the order of magnitude of cudaMalloc and cudaFree, which
// synchronise the device. Nobody has published an AMD GPU's.
#pragma once

#include "allocator/backend.h"

namespace headroom::allocator {

// Nanoseconds.
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
