// SPDX-License-Identifier: Apache-2.0
// Counters of the work done in the lines of training loops and progress bars.
#pragma once

#include <optional>
#include <string_view>

#include "logs/memory_figures.h"

namespace headroom::logs {

// "step 120", "[epoch 1, batch 35]", "[ 20/500]", tqdm's "35/1000 [00:12<". Of several the finest
// is taken: a batch rather than an epoch. Requires: `lower` is in lower case.
std::optional<WorkStep> find_work_step(std::string_view lower);

}  // namespace headroom::logs
