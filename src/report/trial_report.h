// SPDX-License-Identifier: Apache-2.0
// What `headroom try` found of each stack: for people, and as JSON for programs (schema
// headroom.try/1).
#pragma once

#include <string>

#include "proof/trial.h"
#include "report/style.h"

namespace headroom::report {

std::string to_json_text(const proof::TrialReport& report);
std::string to_text(const proof::TrialReport& report, const Style& style);

}  // namespace headroom::report
