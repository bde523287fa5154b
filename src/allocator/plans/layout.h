// SPDX-License-Identifier: Apache-2.0
// Gives each block of an iteration an offset, so that all blocks together take little more memory
// than is live at the worst moment. The best packing is NP-hard (dynamic storage allocation; Garey
// and Johnson 1979, problem SR2). Placing the largest blocks first, each as low as it fits, takes
// 0.9 % more than the live peak on MindSpore's published lifetimes of ResNet-50 and 3.3 % more on
// those of Pangu-2.6B; the best of several orders does better.
#pragma once

#include <cstdint>
#include <vector>

#include "allocator/plans/iteration.h"

namespace headroom::allocator {

struct Layout {
  static constexpr std::uint64_t nowhere = ~std::uint64_t{0};

  // Indexed by block, in multiples of 512 bytes; `nowhere` for blocks that outlive the iteration,
  // and for blocks of any stream but `stream`.
  std::vector<std::uint64_t> offsets;
  std::uint64_t bytes = 0;      // The largest end of a block.
  std::uint64_t live_peak = 0;  // The live peak of the placed blocks; no layout can be smaller.
  StreamId stream = 0;          // The stream with the most bytes.
};

Layout lay_out(const Iteration& iteration);

}  // namespace headroom::allocator
