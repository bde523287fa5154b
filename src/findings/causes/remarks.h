// SPDX-License-Identifier: Apache-2.0
// What people themselves say of the cause, where no line proves it: "downgrading the firmware fixed
// it". A signature "said:CAUSE" or "said:CAUSE/WHAT" is such a remark, and "shown:CAUSE" a line
// that needs no other one to name the cause. The person may be wrong, so a remark never makes an
// answer sure. "about:CAUSE" or "about:CAUSE/WHAT" is weaker still: words that people use where
// trouble is about that subject, which decide only where nothing else does.
#pragma once

#include <optional>

#include "findings/causes/cause_rule.h"

namespace headroom::findings {

std::optional<Hypothesis> find_remark(const LogSubject& subject, const CauseRule& rule);

}  // namespace headroom::findings
