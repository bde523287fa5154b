// SPDX-License-Identifier: Apache-2.0
// Evidence against: what is seen in a log that a cause does not allow.
#pragma once

#include <string>
#include <string_view>

#include "findings/causes/cause_rule.h"

namespace headroom::findings {

// An answer against which something speaks, or that a rival equals, is never said with more.
constexpr double most_in_doubt = 0.75;

// Whether the line is among the hypothesis's evidence.
bool rests_on(const Hypothesis& hypothesis, const logs::Observation& line);

// Lowers the hypothesis of this cause for each kind of line that speaks against it, and adds the
// line to what is against it. Returns whether there was any.
bool weigh_contradictions(const LogSubject& subject, std::string_view cause,
                          Hypothesis& hypothesis);

// Adds a line that speaks against the hypothesis, and keeps this share of its confidence, at most
// `most_in_doubt`.
void speak_against(Hypothesis& hypothesis, double keeps, Evidence line);

}  // namespace headroom::findings
