// SPDX-License-Identifier: Apache-2.0
// Groups live blocks by who holds them: blocks with the same component, size and name have one
// owner. Names that differ only in the number of the layer count as the same.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "allocator/forensics/heap_view.h"
#include "allocator/forensics/out_of_memory.h"

namespace headroom::allocator {

struct Owners {
  std::vector<Owner> most = {};  // At most `count`, those with the most bytes first.
  // The largest single block's owner; nothing if there are no blocks.
  std::optional<Owner> largest = {};
};

Owners find_owners(const HeapView& view, std::size_t count);

}  // namespace headroom::allocator
