// SPDX-License-Identifier: Apache-2.0
// Whom reclaim never ends, whatever was typed.
#pragma once

#include <string>
#include <string_view>

#include "plan/reclaim/reclaim_plan.h"

namespace headroom::plan {

// A display server, a compositor or what keeps a desktop session together; by the kernel's name for
// it, which is at most 15 bytes.
bool is_desktop(std::string_view command);

// A unit that the machine itself or everybody's containers hang on.
bool is_vital_unit(std::string_view unit);

// Why this process is never ended; empty: it may be, if it is chosen.
std::string why_protected(const Held& held, const ReclaimSubject& subject);

}  // namespace headroom::plan
