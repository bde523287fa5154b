// SPDX-License-Identifier: Apache-2.0
// What people tell of versions, as a story with a cause: it worked with one and fails with another.
#pragma once

#include <string_view>

#include "findings/causes/cause_rule.h"
#include "findings/causes/told_versions.h"

namespace headroom::findings {

// `confidence` is 0 where nothing is told; `what` names the thing whose release matters.
struct Story {
  double confidence = 0;
  std::string_view what;  // "ROCm"
  ToldVersions told;
};

// The surest story that speaks for `cause`, a root cause's id.
Story story_of(const LogSubject& subject, std::string_view cause);

}  // namespace headroom::findings
