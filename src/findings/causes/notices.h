// SPDX-License-Identifier: Apache-2.0
// Reports that are about a line which only looks like an error: somebody asks what it means, and
// tells of nothing that fails.
#pragma once

#include "logs/observation.h"

namespace headroom::findings {

// Returns the harmless line that the report is about, by its title or by the message that a
// sentence quotes. nullptr if there is none, if a failure stands, or if a sentence tells of worse
// than of a message: a crash, a hang, a wrong result, work that is not done.
const logs::Observation* asks_about_a_notice(const logs::Observations& log);

}  // namespace headroom::findings
