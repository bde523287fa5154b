// SPDX-License-Identifier: Apache-2.0
// One step of a change as text: what, why, and the exact command or difference.
#pragma once

#include <span>
#include <string>

#include "plan/step.h"
#include "report/style.h"

namespace headroom::report {

// `made` are earlier steps: what only removes again what one of them made is said without its diff.
std::string step_text(const plan::Step& step, std::size_t number, const Style& style,
                      std::span<const plan::Step> made = {});

}  // namespace headroom::report
