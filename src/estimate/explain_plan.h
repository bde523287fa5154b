// SPDX-License-Identifier: Apache-2.0
// What explain_plan.cpp and explain_sums.cpp share: a tensor of a planned step as a match.
#pragma once

#include <string>

#include "estimate/explain.h"
#include "estimate/recorder.h"

namespace headroom::estimate {

// One name for the tensors of all layers: "layers.3.mlp.up_proj" → "layers.*.mlp.up_proj".
std::string without_numbers(const std::string& name);

TensorMatch to_match(const TensorRecord& tensor, const PrintedSize& printed);

}  // namespace headroom::estimate
