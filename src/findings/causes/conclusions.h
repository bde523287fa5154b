// SPDX-License-Identifier: Apache-2.0
// The answers that are not causes: the run is healthy, the failure is not about an AMD GPU, or the
// log does not tell. They depend on what is absent, so they are drawn after every rule was asked.
#pragma once

#include "findings/causes/cause_rule.h"

namespace headroom::findings {

// Whether no failure stands: there are only progress, facts, lines that look frightening but mean
// nothing, and failures of something optional after which the run did its work.
bool is_healthy(const LogSubject& subject);
Hypothesis conclude_healthy(const LogSubject& subject);

// Requires: the scene's vendor is known and is not AMD.
Hypothesis conclude_not_amd(const LogSubject& subject);

// Says what the log shows and which commands would show the rest. `best_guess` is the confidence of
// the surest hypothesis, which was not sure enough.
Hypothesis conclude_insufficient(const LogSubject& subject, double best_guess);

}  // namespace headroom::findings
