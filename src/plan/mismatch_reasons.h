// SPDX-License-Identifier: Apache-2.0
// Why a reboot brought other limits than were predicted: what the settings that were in force on
// this boot say about it.
#pragma once

#include "plan/forecast.h"

namespace headroom::plan {

// Sentences, the surest first; never empty.
std::vector<std::string> find_mismatch_reasons(const Forecast& forecast,
                                               const Comparison& comparison,
                                               const facts::Facts& now);

}  // namespace headroom::plan
