// SPDX-License-Identifier: Apache-2.0
// Where the iterations of a trace end.
#pragma once

#include <cstdint>
#include <vector>

#include "allocator/replay/trace.h"

namespace headroom::allocator {

// The numbers of the events, from 1, before which an iteration has ended, as IterationFinder finds
// them: the first of them ends the second iteration, since the first one is not known for one
// before it is over.
std::vector<std::uint64_t> find_iteration_ends(const Trace& trace);

}  // namespace headroom::allocator
