// SPDX-License-Identifier: Apache-2.0
// Names the tensor that could not be allocated by its size, if a log tells how large the failed
// allocation was, and the job's command line or description tells how large its tensors are.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "estimate/explain.h"
#include "findings/causes/cause_rule.h"

namespace headroom::findings {

struct FailedTensor {
  std::string size;                            // The size as the log prints it: "3.99 GiB".
  std::vector<estimate::TensorMatch> matches;  // Equally plausible tensors; never empty.
  Evidence evidence;                           // The line with the failed request.
};

// Returns nothing if the size or the job's sizes are unknown, if no tensor has the size, or if a
// match may be mere chance.
std::optional<FailedTensor> find_failed_tensor(const LogSubject& subject);

}  // namespace headroom::findings
