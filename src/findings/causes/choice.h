// SPDX-License-Identifier: Apache-2.0
// How one answer is chosen among the rules' hypotheses: what another one explains is no answer, the
// surest of the rest is, and of equals the one that shows first.
#pragma once

#include <span>
#include <vector>

#include "findings/causes/cause_rule.h"

namespace headroom::findings {

struct Candidate {
  const CauseRule* rule = nullptr;
  Hypothesis hypothesis;
  const Candidate* explained_by = nullptr;  // In the same list.
};

// Below this a hypothesis is a runner-up at most.
constexpr double least_for_an_answer = 0.35;

// Asks every rule; the surest first. Where the run went on and did its work behind a failure, the
// hypothesis that rests on it counts half.
std::vector<Candidate> find_candidates(const LogSubject& subject,
                                       std::span<const CauseRule* const> rules);

// nullptr if none is sure enough.
const Candidate* choose(const std::vector<Candidate>& candidates);

// The one at the beginning of the chain of explanations.
const Candidate& root_of(const Candidate& candidate);

// The rule's own confidence, less where another hypothesis, which rests on other lines and which
// this one does not explain, is about as sure.
double confidence_among(const Candidate& chosen, const std::vector<Candidate>& candidates);

}  // namespace headroom::findings
