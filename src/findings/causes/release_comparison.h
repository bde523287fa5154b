// SPDX-License-Identifier: Apache-2.0
// Compares runs in one log: with one ROCm release the job does its work, with another it crashes.
// Or ROCm's packages were updated before the crash and put back after it. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "findings/causes/cause_rule.h"

namespace headroom::findings {

struct ReleaseComparison {
  std::string fails, works;  // "7.0.0", "6.4.3"; releases of a package if no others are told.
  const logs::Observation* failure = nullptr;
  std::vector<const logs::Observation*> told_by;  // The lines that tell releases and results.
  // Whether the log shows that it works again with the earlier one.
  bool shown = false;
  std::string package;  // The updated package; empty if whole releases are compared.
  // The GPU was seen with the earlier one, and is not seen since the update.
  bool lost_access = false;
};

std::optional<ReleaseComparison> compare_releases(const logs::Observations& log);

// The line in which a person says that one release of ROCm was replaced by another; nullptr if
// there is none. Its values are "before" and "after".
const logs::Observation* rocm_upgrade_told(const LogSubject& subject);

}  // namespace headroom::findings
