// SPDX-License-Identifier: Apache-2.0
// What `headroom test --multi` found: for people, and as JSON for programs (schema
// headroom.test/1).
#pragma once

#include <string>

#include "proof/together.h"
#include "report/style.h"

namespace headroom::report {

std::string to_json_text(const proof::TogetherReport& report);
std::string to_text(const proof::TogetherReport& report, const Style& style);

}  // namespace headroom::report
