// SPDX-License-Identifier: Apache-2.0
// What `headroom reclaim` would do or did, as JSON: schema headroom.reclaim/1.
#pragma once

#include "base/document_fwd.h"
#include "plan/reclaim/outcome.h"
#include "plan/reclaim/reclaim_plan.h"

namespace headroom::report {

struct Reclaimed {
  plan::ReclaimPlan plan;
  std::optional<plan::ReclaimOutcome> outcome;  // Nothing: a dry run.
};

Json to_json(const std::vector<Reclaimed>& gpus);

}  // namespace headroom::report
