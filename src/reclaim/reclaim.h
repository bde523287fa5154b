// SPDX-License-Identifier: Apache-2.0
// Carries out a plan: rung by rung, measuring after each, up to the first that suffices. Ends
// nobody but the plan's targets and what dies by a rung that the plan was allowed, and always ends
// itself.
#pragma once

#include <functional>

#include "plan/reclaim/outcome.h"
#include "plan/reclaim/reclaim_plan.h"
#include "reclaim/kernel.h"

namespace headroom::reclaim {

// Called after each rung, for whoever watches.
using OnRung = std::function<void(const plan::RungDone&)>;

plan::ReclaimOutcome carry_out(const plan::ReclaimPlan& plan, Kernel& kernel,
                               const OnRung& on_rung = {});

}  // namespace headroom::reclaim
