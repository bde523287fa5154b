// SPDX-License-Identifier: Apache-2.0
// What free memory is worth: how much of it could be moved or released, how much is stuck between
// live blocks, and the largest request that it could meet.
#pragma once

#include <cstdint>

#include "allocator/forensics/heap_view.h"
#include "allocator/forensics/out_of_memory.h"

namespace headroom::allocator {

struct FreeMemory {
  std::uint64_t bytes = 0;
  std::uint64_t largest_bytes = 0;  // One contiguous piece that the stream may use at once.
  // The largest request that fits after waiting for streams, and repair or release.
  std::uint64_t fits_bytes = 0;
  FreeSplit split;  // Without rounding_bytes, which are not free memory.
};

// Adjacent pieces count as one, unless they lie in different spans. A piece outside all spans
// counts as lying on pages.
FreeMemory measure_free(const HeapView& view);

}  // namespace headroom::allocator
