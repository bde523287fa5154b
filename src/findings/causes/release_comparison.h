// SPDX-License-Identifier: Apache-2.0
// A log that holds more than one run: with one ROCm release the job does its work, with another one
// it crashes; or ROCm's packages are updated before the crash and put back behind it. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "findings/causes/cause_rule.h"

namespace headroom::findings {

struct ReleaseComparison {
  std::string fails, works;  // "7.0.0", "6.4.3"; releases of a package where no other are told.
  const logs::Observation* failure = nullptr;
  std::vector<const logs::Observation*> told_by;  // What tells the releases and the result.
  // It works again with the one before, by the same log.
  bool shown = false;
  std::string package;  // Whose update it was; empty: whole releases are compared.
};

std::optional<ReleaseComparison> compare_releases(const logs::Observations& log);

}  // namespace headroom::findings
