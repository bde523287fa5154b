// SPDX-License-Identifier: Apache-2.0
// A plan under llama.cpp for people, and as JSON, "headroom.plan-llama/1"
// (docs/schema/plan-llama.schema.json).
#pragma once

#include <string>

#include "base/document_fwd.h"
#include "estimate/llama_cpp/llama_plan.h"
#include "report/style.h"

namespace headroom::report {

std::string to_text(const estimate::llama::LlamaPlan& plan, const Style& style = {});
Json to_json(const estimate::llama::LlamaPlan& plan);

}  // namespace headroom::report
