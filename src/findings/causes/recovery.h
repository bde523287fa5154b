// SPDX-License-Identifier: Apache-2.0
// Which failures still stand at the end of a run. A program may report an error, do without what it
// wanted, and finish its work; a crash, a kernel's message or a failed test is never made up for.
#pragma once

#include "findings/causes/cause_rule.h"

namespace headroom::findings {

// A line that reports a failure, by itself or as a consequence, and is not known to be harmless.
bool is_failure(const logs::Observations& log, const logs::Observation& one);

// Known by a word of failure alone, which no other signature knows better.
bool is_vague(const logs::Observation& failure);

// The same run went on and did its work behind it.
bool is_made_up_for(const logs::Observations& log, const logs::Observation& failure);
// All the failures that a hypothesis rests on are. False where it rests on none.
bool is_made_up_for(const LogSubject& subject, const Hypothesis& hypothesis);

// The last failure that stands; nullptr if there is none.
const logs::Observation* standing_failure(const logs::Observations& log);

// A job that the program says it began, and of whose end nothing is said.
bool is_at_work(const logs::Observations& log);

// The job reached its end, or a GPU's results were seen: more than that a server came up.
bool did_its_work(const logs::Observations& log);

}  // namespace headroom::findings
