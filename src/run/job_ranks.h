// SPDX-License-Identifier: Apache-2.0
// A job that several processes of one machine train together, one for each GPU. The ranks share the
// micro-batches of every step, so the job's batch, its number of steps and what it computes are the
// same with any number of them.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "estimate/plan.h"
#include "run/job_file.h"

namespace headroom::run {

// As many as the averager takes (include/headroom/averager.h).
inline constexpr std::uint32_t most_job_ranks = 16;

// The plan of one rank. `whole`: of the job as it is written, so that "auto" is decided. The rank
// with the most micro-batches has ⌈accumulate / ranks⌉ of them. Fails where a step has fewer
// micro-batches than there are ranks.
Result<estimate::Plan> plan_rank(const estimate::Plan& whole, const LoadedJob& loaded,
                                 std::uint32_t ranks);

}  // namespace headroom::run
