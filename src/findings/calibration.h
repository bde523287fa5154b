// SPDX-License-Identifier: Apache-2.0
// Turns how much speaks for an answer into how often such an answer is right.
#pragma once

#include "findings/log_diagnosis.h"

namespace headroom::findings {

// Answers at least this sure are relied on: a stream that is followed ends at one. No answer comes
// there by its record alone.
constexpr double relied_on = 0.8;

// The share of answers of this weight (0 to 1) that were right on recorded logs. Grows with the
// weight, and stays below `relied_on` exactly where the weight does.
double share_right(double weight);

// Replaces the answer's weight by that share; what else it could be keeps its proportions. Leaves
// `insufficient-evidence`, whose weight is the share already, and what was measured on the machine.
// To be called once, after join_machine().
void calibrate(LogDiagnosis& diagnosis);

}  // namespace headroom::findings
