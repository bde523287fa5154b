// SPDX-License-Identifier: Apache-2.0
// What a program does wrong by itself, whatever the GPU: a commit that a bisection found, a part of
// PyTorch that it does not ask for first, a count of devices in the wrong list, a result that
// changes with how the work is cut up. For the rule framework-bug.
#pragma once

#include <string>

#include "findings/causes/cause_rule.h"

namespace headroom::findings {

struct FrameworkSign {
  const logs::Observation* line = nullptr;  // nullptr: there is none.
  double confidence = 0;
  std::string title;
  std::string reason = {};                   // Empty: the usual one.
  const logs::Observation* other = nullptr;  // A second line that shows it.
};

// The first of these signs that there is.
FrameworkSign find_own_doing(const LogSubject& subject);

}  // namespace headroom::findings
