// SPDX-License-Identifier: Apache-2.0
// One iteration of a job that repeats, as a list of its allocations: what was requested in which
// order, and how long each block lived. Time is counted in allocations: a block that dies at k is
// free again before allocation k of the iteration.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "allocator/policy.h"

namespace headroom::allocator {

// Blocks that a job keeps after an iteration for good are mostly this small: they hold numbers such
// as losses, not activations.
inline constexpr std::uint64_t small_block_bytes = 4096;

struct IterationBlock {
  static constexpr std::uint32_t never = std::numeric_limits<std::uint32_t>::max();

  std::uint64_t bytes = 0;
  StreamId stream = 0;
  std::uint32_t dies = never;  // Greater than its own number; `never` if it outlived the iteration.

  bool operator==(const IterationBlock&) const = default;
};

using Iteration = std::vector<IterationBlock>;  // In the order of allocation.

}  // namespace headroom::allocator
