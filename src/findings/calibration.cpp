// SPDX-License-Identifier: Apache-2.0
#include "findings/calibration.h"

#include <algorithm>
#include <cmath>

#include "findings/causes/contradiction.h"

namespace headroom::findings {
namespace {

// Logistic regression of what was right on the log-odds of the weight. Rules weigh each answer as
// if nothing but its own lines spoke for it; that no rule found another cause in the same log does
// so too, and is the same for all of them. So the odds are shifted, and what rules disagree about
// is pulled together. docs/decisions/0020-calibration.md says on what it was fitted.
constexpr double shift = 1.58;
constexpr double slope = 0.75;

// Rules say neither 0 nor 1 of what they only read.
constexpr double least_weight = 0.02;
constexpr double most_weight = 0.98;

constexpr double just_below = 0.01;

// A guess by what a report is about (causes/remarks.cpp) has no lines of its own that other rules
// could have taken for their causes, so nothing speaks for it but itself.
constexpr double guessed_below = 0.43;
constexpr double guess_is_right_more = 0.13;

// What only a person says was right in about half of the reports that no rule had seen.
constexpr double most_of_a_tale = 0.6;

}  // namespace

double share_right(double weight) {
  if (weight < guessed_below)
    return std::max(0.0, weight * (1 + guess_is_right_more / guessed_below));
  const double held = std::clamp(weight, least_weight, most_weight);
  const double odds = std::exp(shift + slope * std::log(held / (1 - held)));
  const double share = odds / (1 + odds);
  return weight < relied_on ? std::min(share, relied_on - just_below) : share;
}

void calibrate(LogDiagnosis& diagnosis) {
  Cause& cause = diagnosis.cause;
  if (diagnosis.is_measured || cause.id == "insufficient-evidence") return;
  const double weight = cause.confidence;
  cause.confidence = share_right(weight);
  if (cause.is_told) cause.confidence = std::min(cause.confidence, most_of_a_tale);
  if (!cause.against.empty()) cause.confidence = std::min(cause.confidence, most_in_doubt);
  if (weight >= 1) return;
  const double keeps = std::min(1.0, (1 - cause.confidence) / (1 - weight));
  for (Alternative& one : diagnosis.runners_up) one.confidence *= keeps;
}

}  // namespace headroom::findings
