// SPDX-License-Identifier: Apache-2.0
// Where each block of an iteration lies, so that all of them together take little more than what is
// live at the worst moment. The best packing is NP-hard; placing the largest first, each as low as
// it fits, comes within a few percent on real iterations (allocators.md §4.4), and the best of
// several orders closer.
#pragma once

#include <cstdint>
#include <vector>

#include "allocator/plans/iteration.h"

namespace headroom::allocator {

struct Layout {
  static constexpr std::uint64_t nowhere = ~std::uint64_t{0};

  // By number of the block, multiples of 512 bytes; `nowhere` for those that outlive the iteration
  // and for those of other streams than `stream`.
  std::vector<std::uint64_t> offsets;
  std::uint64_t bytes = 0;      // Of all: the largest end.
  std::uint64_t live_peak = 0;  // Of those placed: no layout can be smaller.
  StreamId stream = 0;          // The one with the most bytes.
};

Layout lay_out(const Iteration& iteration);

}  // namespace headroom::allocator
