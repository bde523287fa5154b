// SPDX-License-Identifier: Apache-2.0
// A plan for people: the verdict first, then what the peak consists of, then what would fit
// instead.
#pragma once

#include <string>

#include "estimate/models/architecture.h"
#include "estimate/plan.h"

namespace headroom::report {

std::string to_text(const estimate::Plan& plan, const estimate::Architecture& model);

// "[batch] micro = 2, accumulate = 4 and [compute] checkpointing = "layer"": the settings of a
// change, as a job names them.
std::string to_text(const estimate::Change& change);

}  // namespace headroom::report
