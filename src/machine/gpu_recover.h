// SPDX-License-Identifier: Apache-2.0
// The one place that opens amdgpu_gpu_recover: reading it resets the GPU (acts_when_read.h).
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace headroom::machine {

// Has the driver reset the GPU of /dev/dri/cardN and waits until it has tried
// (amdgpu_fence.c, gpu_recover_get: the file says the reset's result, 0 or a negative errno).
// `root` is "/" or a scratch root. Fails with not_found where debugfs does not offer it,
// no_permission without root or under lockdown, io where the driver says that the reset failed. May
// hang; see bounded_call.h.
Status reset_gpu(const std::string& root, std::uint64_t card);

}  // namespace headroom::machine
