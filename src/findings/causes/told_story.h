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

// The line in which somebody names the only change since the job worked; nullptr if there is none.
const logs::Observation* only_change_since_it_worked(const logs::Observations& log);

// The surest story that speaks for `cause`, a root cause's id.
Story story_of(const LogSubject& subject, std::string_view cause);

}  // namespace headroom::findings
