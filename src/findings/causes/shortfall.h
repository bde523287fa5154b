// SPDX-License-Identifier: Apache-2.0
// What the figures of a failed allocation add up to, in one place: what is not free and not the
// job's own is held by others; what PyTorch has reserved and not given out is lost to
// fragmentation; what the job itself allocated is its need; a limit below the card is a limit.
#pragma once

#include <string>

#include "findings/causes/failed_allocation.h"

namespace headroom::findings {

enum class Shortfall {
  unknown,            // Too few figures.
  larger_than_card,   // The request alone exceeds the card.
  over_allowance,     // A limit of the process, below the card.
  fragmented,         // What the allocator keeps idle would have served it.
  own_need,           // The job's own memory fills the card.
  others,             // Somebody else's memory does.
  refused_with_room,  // Plainly enough was free, by the program's own figures.
};

struct Reading {
  Shortfall shortfall = Shortfall::unknown;
  double sure = 0;
  std::string sum;                        // The arithmetic in words.
  Shortfall second = Shortfall::unknown;  // What it might be instead.
  double second_sure = 0;

  // How sure the figures make one explanation; 0 if they speak for others.
  double of(Shortfall one) const {
    if (shortfall == one) return sure;
    return second == one ? second_sure : 0;
  }
};
Reading read_figures(const FailedAllocation& failed);

}  // namespace headroom::findings
