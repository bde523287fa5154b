// SPDX-License-Identifier: Apache-2.0
// Adds up the figures of a failed allocation. Memory that is neither free nor the job's own is held
// by others; what PyTorch has reserved but does not use is lost to fragmentation; what the job
// itself allocated is its need; and a limit may lie below the card's size.
#pragma once

#include <string>

#include "findings/causes/failed_allocation.h"

namespace headroom::findings {

enum class Shortfall {
  unknown,            // Too few figures.
  larger_than_card,   // The request alone exceeds the card.
  over_allowance,     // A limit of the process, below the card's size.
  fragmented,         // The allocator's idle memory would have been enough.
  own_need,           // The job's own memory fills the card.
  others,             // Other processes' memory fills it.
  refused_with_room,  // By the program's own figures enough was free.
};

struct Reading {
  Shortfall shortfall = Shortfall::unknown;
  double sure = 0;
  std::string sum;                        // The arithmetic in words.
  Shortfall second = Shortfall::unknown;  // The next best explanation.
  double second_sure = 0;

  // How sure an explanation is by the figures; 0 if they speak for another.
  double of(Shortfall one) const {
    if (shortfall == one) return sure;
    return second == one ? second_sure : 0;
  }
};
Reading read_figures(const FailedAllocation& failed);

// Whether next to nothing was asked for beside what the message itself counts as free. The amount
// free would have to be wrong as a whole; a limit that counts something else than bytes of the card
// refuses such a request too.
bool is_tiny_beside_free(const FailedAllocation& failed);

}  // namespace headroom::findings
