// SPDX-License-Identifier: Apache-2.0
// Times of a benchmark that do not depend on how much there was to compute. For the rule app-bug.
#pragma once

#include <optional>

#include "findings/causes/cause_rule.h"

namespace headroom::findings {

// A series of products of growing matrices, all in the same time: what was measured is the launch,
// because nothing waited for the GPU. Surer where the program waits without naming a device and
// uses several.
std::optional<Hypothesis> find_launch_times(const LogSubject& subject);

}  // namespace headroom::findings
