// SPDX-License-Identifier: Apache-2.0
// What `headroom test` found of each device: for people, and as JSON for programs (schema
// headroom.test/1).
#pragma once

#include <string>

#include "proof/step.h"
#include "report/style.h"

namespace headroom::report {

std::string to_json_text(const proof::ProofReport& report);
std::string to_text(const proof::ProofReport& report, const Style& style);

}  // namespace headroom::report
