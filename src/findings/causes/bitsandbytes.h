// SPDX-License-Identifier: Apache-2.0
// Which library bitsandbytes asks for, and which one there is.
#pragma once

#include <string>
#include <string_view>

#include "findings/causes/cause_rule.h"
#include "logs/observation.h"

namespace headroom::findings {

// "rocm63" of a line of the signature bitsandbytes-library; empty if it names none.
std::string library_asked_of(const logs::Observation& seen);

// The line that shows a library for another ROCm than the one asked for; nullptr if there is none.
const logs::Observation* built_for_another(const logs::Observations& log, std::string_view asked);

// Whether it was built for the release that is in use, and looks for one that is not: it computed
// the name of its own library wrongly.
bool is_misread(const LogSubject& subject, const logs::Observation& built, std::string_view asked);

}  // namespace headroom::findings
