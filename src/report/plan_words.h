// SPDX-License-Identifier: Apache-2.0
// Words about a plan that every form of it has: text and page.
#pragma once

#include <string>

#include "estimate/models/architecture.h"
#include "estimate/plan.h"

namespace headroom::report {

// "DPO, " and so on, where it is not text as it is that is trained on.
std::string trainer_of(const estimate::Plan& plan);

// "full fine-tuning", "QLoRA of rank 8 on q v, lm_head whole"
std::string method_of(const estimate::Plan& plan);

// "micro-batch 2 pairs × 512 tokens, accumulated 4 ×", or what goes in otherwise. Requires: the
// plan's micro-batch and accumulation are known.
std::string batch_of(const estimate::Plan& plan, const estimate::Architecture& model);

}  // namespace headroom::report
