// SPDX-License-Identifier: Apache-2.0
// The plan of a diffusers pipeline for people, and as JSON, "headroom.plan-diffusion/1"
// (docs/schema/plan-diffusion.schema.json).
#pragma once

#include <string>

#include "base/document_fwd.h"
#include "estimate/diffusion/diffusion_plan.h"
#include "report/style.h"

namespace headroom::report {

std::string to_text(const estimate::diffusion::DiffusionPlan& plan, const Style& style = {});
Json to_json(const estimate::diffusion::DiffusionPlan& plan);

}  // namespace headroom::report
