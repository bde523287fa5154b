// SPDX-License-Identifier: Apache-2.0
// The answers that are no cause: the run is healthy, the failure is not about an AMD GPU, or the
// log does not tell. They rest on what is absent, so they are drawn when every rule has been asked.
#pragma once

#include "findings/causes/cause_rule.h"

namespace headroom::findings {

// No failure stands: only progress, facts, frightening lines that mean nothing, and failures of
// something optional behind which the run did its work.
bool is_healthy(const LogSubject& subject);
Hypothesis conclude_healthy(const LogSubject& subject);

// Requires: the scene's vendor is known and is not AMD.
Hypothesis conclude_not_amd(const LogSubject& subject);

// Says what is seen and which commands would show the rest. `best_guess` is the confidence of the
// surest hypothesis, which was not sure enough.
Hypothesis conclude_insufficient(const LogSubject& subject, double best_guess);

}  // namespace headroom::findings
