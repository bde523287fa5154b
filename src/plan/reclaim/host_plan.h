// SPDX-License-Identifier: Apache-2.0
// From inside a container neither the host's processes can be reached nor its driver: what is to be
// done there, told with the numbers that the host knows the processes by.
#pragma once

#include "plan/reclaim/reclaim_plan.h"

namespace headroom::plan {

std::vector<HostStep> plan_for_host(const ReclaimSubject& subject, const facts::Gpu& gpu,
                                    const Measurement& now);

}  // namespace headroom::plan
