// SPDX-License-Identifier: Apache-2.0
// What people themselves say of the cause, where no line proves it: "downgrading the firmware fixed
// it". A signature "said:CAUSE" or "said:CAUSE/WHAT" is such a remark, and "shown:CAUSE" a line
// that needs no other one to name the cause. The person may be wrong, so a remark never makes an
// answer sure. "about:CAUSE" or "about:CAUSE/WHAT" is weaker still: words that people use where
// trouble is about that subject, which decide only where nothing else does.
#pragma once

#include <optional>

#include "findings/causes/cause_rule.h"
#include "findings/causes/told_topics.h"

namespace headroom::findings {

// How sure a remark is that only speaks of the cause ("about:").
constexpr double most_of_a_mention = 0.38;

std::optional<Hypothesis> find_remark(const LogSubject& subject, const CauseRule& rule);

// The guess that the rule's cause is what the report is about. Requires: the topic names it.
Hypothesis guess_of(const CauseRule& rule, ToldTopic topic);

}  // namespace headroom::findings
