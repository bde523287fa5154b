// SPDX-License-Identifier: Apache-2.0
// The clock for measuring how long something took. What reasons about time gets it as an argument,
// so only the commands ask the clock.
#pragma once

#include <cstdint>

namespace headroom::machine {

// Nanoseconds since some fixed moment; never goes back.
std::uint64_t monotonic_ns();

}  // namespace headroom::machine
