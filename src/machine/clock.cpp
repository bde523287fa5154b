// SPDX-License-Identifier: Apache-2.0
#include "machine/clock.h"

#include <chrono>

namespace headroom::machine {

std::uint64_t monotonic_ns() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
}

}  // namespace headroom::machine
