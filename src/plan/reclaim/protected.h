// SPDX-License-Identifier: Apache-2.0
// Whom reclaim never ends, whatever was typed.
#pragma once

#include <string_view>

#include "plan/reclaim/reclaim_plan.h"

namespace headroom::plan {

// A unit that the machine itself or everybody's containers hang on.
bool is_vital_unit(std::string_view unit);

enum class Protection {
  none,           // It may be ended, if it is chosen.
  first_process,  // PID 1, or none that anybody could name.
  own_line,       // This command was started from it.
  login,
  desktop,  // And --include-desktop was not said.
};
Protection protection_of(const Held& held, const ReclaimSubject& subject);

// Why it is never ended, as a sentence; empty for none.
std::string_view to_string(Protection protection);

}  // namespace headroom::plan
