// SPDX-License-Identifier: Apache-2.0
// Runs of one command that differ in how many tokens are computed at a time, or by how many
// threads, and in what comes out. That is how the work is cut up and must not change the result.
#pragma once

#include <string>

#include "logs/observation.h"

namespace headroom::findings {

struct BatchingDifference {
  const logs::Observation* worse = nullptr;  // The result that is wrong; nullptr: there is none.
  const logs::Observation* better = nullptr;
  std::string worse_option, better_option;  // "-ub 512", "-ub 2048".
};

// Compares the perplexities that llama-perplexity ends in, with the commands that were typed before
// them. A half more is far beyond what rounding does.
BatchingDifference find_difference_by_batching(const logs::Observations& log);

}  // namespace headroom::findings
