// SPDX-License-Identifier: Apache-2.0
// What became of a deployment: for programs, for the person at the terminal, and as the post-mortem
// that is filed.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "deploy/deployer.h"
#include "plan/change.h"
#include "report/style.h"

namespace headroom::report {

// headroom.deploy/1 (docs/schema/deploy.schema.json).
nlohmann::ordered_json to_json(const deploy::DeployReport& report);

// What would be done, without --apply: the gate's checks, and the change as a unified diff.
std::string to_text(const deploy::DeployReport& report, const plan::Change& change,
                    const Style& style);
// What was done: outcome, cause, times, what is left to do.
std::string to_text(const deploy::DeployReport& report, const Style& style);

// One that is under way, or the last one, for `headroom deploy --status`.
std::string to_text(const deploy::Record& record, const Style& style);
nlohmann::ordered_json to_json(const deploy::Record& record);

// Markdown: summary, timeline, root cause, evidence, what was rolled back, downtime, what to do
// next. Times are UTC, of Record's Time. `change` adds the difference that was tried.
std::string to_postmortem(const deploy::DeployReport& report, const plan::Change& change);

}  // namespace headroom::report
