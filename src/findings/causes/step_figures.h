// SPDX-License-Identifier: Apache-2.0
// The memory that a job prints at its steps.
#pragma once

#include "logs/observation.h"

namespace headroom::findings {

// The last of several steps after which a job prints the memory in use, where that stays what it
// was from step to step; nullptr if it grows, or there are fewer than four.
const logs::Observation* steady_at_steps(const logs::Observations& log);

}  // namespace headroom::findings
