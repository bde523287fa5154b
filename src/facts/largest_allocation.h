// SPDX-License-Identifier: Apache-2.0
// The largest single hipMalloc that can succeed on an otherwise idle GPU, and what stops a larger
// one: HIP's cap on one allocation, or a limit further up that is smaller still.
#pragma once

#include <optional>
#include <string>

#include "facts/ladder.h"

namespace headroom::facts {

struct LargestAllocation {
  Bytes bytes;
  std::string rung;  // That sets it.
  std::string why;   // A sentence without its full stop, numbers filled in.
};

// Nothing where neither HIP's cap nor any capacity that applies is known.
std::optional<LargestAllocation> find_largest_allocation(const Ladder& ladder);

}  // namespace headroom::facts
