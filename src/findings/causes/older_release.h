// SPDX-License-Identifier: Apache-2.0
// What people tell of the code that an older release had for a target.
#pragma once

#include <string_view>

#include "findings/causes/cause_rule.h"

namespace headroom::findings {

// The line in which somebody tells that an older release than the one in use has code for the
// target ("23.1 contains 242 files of gfx942"); nullptr if there is none, or no release is known.
const logs::Observation* older_release_had(const LogSubject& subject, std::string_view gfx);

}  // namespace headroom::findings
