// SPDX-License-Identifier: Apache-2.0
// Chooses one answer among the rules' hypotheses. A hypothesis that another one explains is no
// answer; of the rest the surest is, and among equals the one that shows first in the logs.
#pragma once

#include <span>
#include <vector>

#include "findings/causes/cause_rule.h"

namespace headroom::findings {

struct Candidate {
  const CauseRule* rule = nullptr;
  Hypothesis hypothesis;
  const Candidate* explained_by = nullptr;  // A candidate in the same list.
};

// Whether a list of causes separated by blanks, such as CauseRule::explains, has this one.
bool names_cause(std::string_view list, std::string_view id);

// A hypothesis that is less sure than this can only be a runner-up.
constexpr double least_for_an_answer = 0.35;

// Asks every rule and returns the candidates, the surest first. If a run went on and did its work
// after a failure, hypotheses that rest on that failure count half.
std::vector<Candidate> find_candidates(const LogSubject& subject,
                                       std::span<const CauseRule* const> rules);

// Returns the answer; nullptr if no candidate is sure enough.
const Candidate* choose(const std::vector<Candidate>& candidates);

// Returns the candidate at the beginning of the chain of explanations.
const Candidate& root_of(const Candidate& candidate);

// Returns the rule's own confidence, lowered if another hypothesis is about as sure, rests on other
// lines, and is not explained by this one.
double confidence_among(const Candidate& chosen, const std::vector<Candidate>& candidates);

}  // namespace headroom::findings
