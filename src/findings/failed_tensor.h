// SPDX-License-Identifier: Apache-2.0
// The tensor that could not be allocated, by its size: where a log tells how large the failed
// allocation was, and the job's command line, or its description, tells how large its tensors are.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "estimate/explain.h"
#include "findings/causes/cause_rule.h"

namespace headroom::findings {

struct FailedTensor {
  std::string size;                            // As the log prints it: "3.99 GiB".
  std::vector<estimate::TensorMatch> matches;  // Equally plausible ones; never empty.
  Evidence evidence;                           // The line that asks for it.
};

// Only what is no mere chance: nothing if the size or the job's sizes are unknown, or if no tensor
// has it.
std::optional<FailedTensor> find_failed_tensor(const LogSubject& subject);

}  // namespace headroom::findings
