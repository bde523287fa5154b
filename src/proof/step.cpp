// SPDX-License-Identifier: Apache-2.0
#include "proof/step.h"

#include <algorithm>

namespace headroom::proof {

bool has_failure(const TestedDevice& device) {
  return std::any_of(device.steps.begin(), device.steps.end(),
                     [](const StepResult& step) { return step.ok && !*step.ok; });
}

bool has_failure(const ProofReport& report) {
  return std::any_of(report.devices.begin(), report.devices.end(),
                     [](const TestedDevice& device) { return has_failure(device); });
}

}  // namespace headroom::proof
