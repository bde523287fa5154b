// SPDX-License-Identifier: Apache-2.0
// What changed on a machine in the days before its jobs failed: as text and as JSON.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "findings/recent_changes.h"
#include "report/style.h"

namespace headroom::report {

// At most a screenful, what is left out is counted; empty where there is nothing to say: no change,
// unless a failure is dated and histories were read. Commands stay whole once fit() has seen it.
std::string changes_text(const findings::RecentChanges& recent, const Style& style);
// The key "changes" of headroom.check/1: all of them.
nlohmann::ordered_json changes_json(const findings::RecentChanges& recent);

}  // namespace headroom::report
