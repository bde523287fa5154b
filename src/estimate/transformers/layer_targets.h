// SPDX-License-Identifier: Apache-2.0
// Which matrices of a layer get PEFT's adapters.
#pragma once

#include <vector>

#include "estimate/transformers/stack.h"

namespace headroom::estimate::transformers {

// The projections of a layer that the job's targets name: a fused one if any of its parts is named.
std::vector<Linear*> targets_in(Layer& layer, const std::vector<Target>& targets, bool all_linear);

}  // namespace headroom::estimate::transformers
