// SPDX-License-Identifier: Apache-2.0
// `headroom fix ID --json`: schema headroom.fix/1.
#pragma once

#include <string>

#include "facts/facts.h"
#include "plan/change.h"

namespace headroom::report {

std::string to_json_text(const plan::Change& change, const facts::Facts& now);

}  // namespace headroom::report
