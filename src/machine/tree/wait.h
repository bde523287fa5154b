// SPDX-License-Identifier: Apache-2.0
// Waiting for whichever comes first: something to read, or a moment.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace headroom::machine {

// Returns, for each descriptor, whether reading from it would not wait: there is something, it has
// ended, or it is broken. All are false when `timeout_ms` is over (nothing: there is no such
// moment), and may be after a signal that is not held back. A descriptor of -1 is never ready. Any
// thread may call it.
std::vector<bool> wait_readable(std::span<const int> descriptors,
                                std::optional<std::uint64_t> timeout_ms);

}  // namespace headroom::machine
