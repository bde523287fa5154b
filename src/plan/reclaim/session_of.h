// SPDX-License-Identifier: Apache-2.0
// What ends with a desktop: every program of its session, of which only those that use a GPU are
// known by name.
#pragma once

#include <string>
#include <vector>

#include "plan/reclaim/reclaim_plan.h"

namespace headroom::plan {

// Whether the chosen process with this PID is part of a desktop.
bool is_desktop_target(const ReclaimPlan& plan, std::uint64_t pid);

// Says who else would end if the targets with these PIDs did: empty unless one of them is part of a
// desktop. Names every process that uses an AMD GPU and is not known to run outside that desktop's
// session: in a container, a system's unit, another login session, or as another user.
std::string find_dying_too(const ReclaimSubject& subject, const ReclaimPlan& plan,
                           const std::vector<std::uint64_t>& pids);

}  // namespace headroom::plan
