// SPDX-License-Identifier: Apache-2.0
// What a systematic error of the planner comes from: the part that differs in every run by about
// what is missing or too much.
#pragma once

#include <optional>
#include <vector>

#include "estimate/past_errors.h"

namespace headroom::estimate {

struct Amounts {
  double predicted = 0;  // Bytes.
  double measured = 0;
};

// Nothing where one of the two is not known.
std::optional<Amounts> amounts_of(const PastRun& run, Measure measure);

// Requires: not empty.
double median(std::vector<double> values);

// Requires: the error of this measure is systematic over `runs`. Nothing where it is that of
// another measure alone: what is reserved follows what is allocated, and the device follows both.
std::optional<ErrorCause> find_cause(Measure measure, const std::vector<const PastRun*>& runs);

}  // namespace headroom::estimate
