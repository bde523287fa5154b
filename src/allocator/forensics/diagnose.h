// SPDX-License-Identifier: Apache-2.0
// Explains a refused request from the allocator's state at that moment. Pure; with 100,000 live
// blocks it takes a few milliseconds (bench/forensics_bench.cpp).
#pragma once

#include "allocator/forensics/heap_view.h"
#include "allocator/forensics/out_of_memory.h"

namespace headroom::allocator {

// Each optional part of the answer is present if the view has what the part needs. The forecast of
// batches says if its basis is `proportional`.
OutOfMemory diagnose(const HeapView& view);

}  // namespace headroom::allocator
