// SPDX-License-Identifier: Apache-2.0
// AITER, AMD's kernels for Instinct cards: vLLM and SGLang use them if a variable says so. Most are
// made for CDNA; on Radeon cards some do not exist, crash or do not fit.
#pragma once

#include <optional>

#include "findings/causes/cause_rule.h"

namespace headroom::findings {

// unsupported-option, if a failure is AITER's and it was switched on or is on by default.
std::optional<Hypothesis> find_aiter(const LogSubject& subject);

}  // namespace headroom::findings
