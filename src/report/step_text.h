// SPDX-License-Identifier: Apache-2.0
// One step of a change as text: what, why, and the exact command or difference.
#pragma once

#include <string>

#include "plan/step.h"
#include "report/style.h"

namespace headroom::report {

std::string step_text(const plan::Step& step, std::size_t number, const Style& style);

}  // namespace headroom::report
