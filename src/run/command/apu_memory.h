// SPDX-License-Identifier: Apache-2.0
// What programs are told that an APU has. Its driver tells the HIP runtime of one pool; between
// hipMalloc and memory stand other limits, of which the smallest holds (facts/ladder.h).
#pragma once

#include <string>

#include "facts/facts.h"

namespace headroom::run {

// "0000:c4:00.0=64424509440,…" for HEADROOM_ALLOCATOR_TOTAL; empty if there is no APU whose ladder
// is known. A card with memory of its own is not in it: there the driver's figure holds.
std::string apu_totals(const facts::Facts& facts);

}  // namespace headroom::run
