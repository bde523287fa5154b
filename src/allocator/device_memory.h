// SPDX-License-Identifier: Apache-2.0
// The device's memory as its driver counts it, over all processes.
#pragma once

#include <cstdint>
#include <string>

namespace headroom::allocator {

struct DeviceMemory {
  std::uint64_t total_bytes = 0;
  std::uint64_t free_bytes = 0;  // What any process may take, or at least this one.
  std::string source;            // The call that reported it: "hipMemGetInfo".
};

}  // namespace headroom::allocator
