// SPDX-License-Identifier: Apache-2.0
// The answers that are no cause: the run is healthy, the failure is not about an AMD GPU, or the
// log does not tell. They rest on what is absent, so they are drawn when every rule has been asked.
#pragma once

#include "findings/causes/cause_rule.h"

namespace headroom::findings {

// Nothing failed: only progress, facts and frightening lines that mean nothing.
bool is_healthy(const LogSubject& subject);
Hypothesis conclude_healthy(const LogSubject& subject);

// Requires: the scene's vendor is known and is not AMD.
Hypothesis conclude_not_amd(const LogSubject& subject);

// Says what is seen and which commands would show the rest.
Hypothesis conclude_insufficient(const LogSubject& subject);

}  // namespace headroom::findings
