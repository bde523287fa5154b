// SPDX-License-Identifier: Apache-2.0
// The device as its driver counts it, every process included.
#pragma once

#include <cstdint>
#include <string>

namespace headroom::allocator {

struct DeviceMemory {
  std::uint64_t total_bytes = 0;
  std::uint64_t free_bytes = 0;  // For whoever takes it, or for this process at least.
  std::string source;            // Who says so: "hipMemGetInfo".
};

}  // namespace headroom::allocator
