// SPDX-License-Identifier: Apache-2.0
// From an allocator's state at a refusal to its explanation. Pure; at 100,000 live blocks it takes
// a few milliseconds (bench/forensics_bench.cpp).
#pragma once

#include "allocator/forensics/heap_view.h"
#include "allocator/forensics/out_of_memory.h"

namespace headroom::allocator {

// Every optional part of the answer is there where the view has what it needs. Of batches whose
// basis is `proportional` the forecast says so.
OutOfMemory diagnose(const HeapView& view);

}  // namespace headroom::allocator
