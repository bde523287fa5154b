// SPDX-License-Identifier: Apache-2.0
// Every cause rule, in one table.
#pragma once

#include <span>

#include "findings/causes/cause_rule.h"

namespace headroom::findings {

// clang-format off
extern const CauseRule app_bug_cause;
extern const CauseRule disk_full_cause;
// clang-format on

// The order is that of the table in the documentation, and decides between causes that are equally
// sure and show at the same line.
std::span<const CauseRule* const> cause_rules();

}  // namespace headroom::findings
