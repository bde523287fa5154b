// SPDX-License-Identifier: Apache-2.0
// Which holders are to be ended. Nobody is by default but who has been left behind: a person names
// the others.
#pragma once

#include "plan/reclaim/reclaim_plan.h"

namespace headroom::plan {

// Fills in targets, spared and dead of a plan whose `now` is known. Fails with invalid where a
// PID, container or unit that was named holds nothing on this GPU.
Status choose_targets(const ReclaimSubject& subject, ReclaimPlan& plan);

}  // namespace headroom::plan
