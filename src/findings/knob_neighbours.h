// SPDX-License-Identifier: Apache-2.0
// Judges settings by those beside them: what one needs and does not find, and what two of them
// exclude in each other.
#pragma once

#include <vector>

#include "findings/knob_context.h"
#include "findings/knob_items.h"

namespace headroom::findings {

// Concludes on the items that are still to be kept.
void judge_neighbours(std::vector<KnobItem>& items, const KnobContext& context);

}  // namespace headroom::findings
