// SPDX-License-Identifier: Apache-2.0
// Two builds of ROCm on one machine that find different amounts of memory on the same device. Pure.
#pragma once

#include <optional>

#include "findings/causes/cause_rule.h"

namespace headroom::findings {

// Nothing if the log does not say that the runs differ by their build of ROCm: settings and a
// restart change what a device has as well.
std::optional<Hypothesis> compare_memory_of_releases(const LogSubject& subject);

}  // namespace headroom::findings
