// SPDX-License-Identifier: Apache-2.0
// The job of a trial and what the planner says of its peak.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cli/commands.h"
#include "proof/trial_job.h"
#include "run/job_flags.h"

namespace headroom::cli {

struct TrialPlan {
  proof::TrialJob job;
  std::optional<std::uint64_t> allocated_bytes;  // Of PyTorch's tensors.
  std::string not_planned;                       // Why there is none.
};

// The job is as for `headroom plan`; an "auto" batch becomes what the plan makes of it. Fails with
// what is wrong in the job, or where it is none that can be tried.
Result<TrialPlan> plan_trial(const std::string& path, const Context& context);

}  // namespace headroom::cli
