// SPDX-License-Identifier: Apache-2.0
// The units and containers that targets belong to, and how each is stopped.
#pragma once

#include "plan/reclaim/reclaim_plan.h"

namespace headroom::plan {

// Fills in the services of a plan whose targets are known.
void find_services(const ReclaimSubject& subject, ReclaimPlan& plan);

}  // namespace headroom::plan
