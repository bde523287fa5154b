// SPDX-License-Identifier: Apache-2.0
// A plan under vLLM for people, and as JSON, "headroom.plan-vllm/1"
// (docs/schema/plan-vllm.schema.json).
#pragma once

#include <string>

#include "base/document_fwd.h"
#include "estimate/vllm/vllm_plan.h"
#include "report/style.h"

namespace headroom::report {

std::string to_text(const estimate::vllm::VllmPlan& plan, const Style& style = {});
Json to_json(const estimate::vllm::VllmPlan& plan);

}  // namespace headroom::report
