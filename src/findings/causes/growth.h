// SPDX-License-Identifier: Apache-2.0
// What growing memory says about a failure for want of memory: whether the request would have
// fitted had nothing grown, and then whose growth it is.
#pragma once

#include <optional>

#include "findings/causes/cause_rule.h"
#include "findings/memory_growth.h"

namespace headroom::findings {

// The series of the logs, with the sizes that they and the machine tell.
std::optional<MemoryGrowth> memory_growth(const LogSubject& subject);

// Live memory grew until a request failed: a leak in the program.
std::optional<Hypothesis> find_leak(const LogSubject& subject);

// The allocator's memory grew until a request failed, and what lives in it did not.
std::optional<Hypothesis> find_growing_cache(const LogSubject& subject);

// To a hypothesis that the job needs more memory than there is: growth that explains the failure
// speaks against it, a level series for it.
void weigh_growth(const LogSubject& subject, Hypothesis& too_big);

// To a hypothesis that host memory ran out: how it grew, and what usually keeps it.
void tell_growth_of_host(const LogSubject& subject, Hypothesis& killed);

}  // namespace headroom::findings
