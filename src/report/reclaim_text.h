// SPDX-License-Identifier: Apache-2.0
// What `headroom reclaim` would do, and what it did, for people.
#pragma once

#include <string>

#include "plan/reclaim/outcome.h"
#include "plan/reclaim/reclaim_plan.h"
#include "report/style.h"

namespace headroom::report {

enum class PlanDetail {
  brief,    // A dry run: the rungs that --apply takes, the names of the others, what to type next.
  verbose,  // The same with every rung, and with what is never done.
  applied,  // The rungs that are about to be taken.
};

// The plan: holders, who is chosen, and the rungs. `before`: the plan that stands above it, whose
// sentences are not said again.
std::string to_text(const plan::ReclaimPlan& plan, PlanDetail detail, const Style& style,
                    const plan::ReclaimPlan* before = nullptr);
// One rung that was taken, or why it was not.
std::string to_text(const plan::RungDone& done, const Style& style);
// What came of it all and what to type next.
std::string to_text(const plan::ReclaimPlan& plan, const plan::ReclaimOutcome& outcome,
                    const Style& style);

// What to type after it; shared with the JSON. Empty: nothing is left to do.
std::vector<std::string> next_commands(const plan::ReclaimPlan& plan,
                                       const plan::ReclaimOutcome* outcome);

}  // namespace headroom::report
