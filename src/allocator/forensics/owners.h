// SPDX-License-Identifier: Apache-2.0
// Who holds the memory: blocks of one component, name and size are one owner, and so are those
// whose names differ only in the number of the layer.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "allocator/forensics/heap_view.h"
#include "allocator/forensics/out_of_memory.h"

namespace headroom::allocator {

struct Owners {
  std::vector<Owner> most = {};       // By bytes, the largest first; at most `count`.
  std::optional<Owner> largest = {};  // Of the largest single block. Nothing without blocks.
};

Owners find_owners(const HeapView& view, std::size_t count);

}  // namespace headroom::allocator
