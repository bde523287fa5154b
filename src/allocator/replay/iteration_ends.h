// SPDX-License-Identifier: Apache-2.0
// Finds where the iterations of a trace end.
#pragma once

#include <cstdint>
#include <vector>

#include "allocator/replay/trace.h"

namespace headroom::allocator {

// The numbers of the events, counted from 1, before which IterationFinder sees an iteration end.
// The first number ends the second iteration, since the first iteration is not recognised before it
// is over.
std::vector<std::uint64_t> find_iteration_ends(const Trace& trace);

}  // namespace headroom::allocator
