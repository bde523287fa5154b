// SPDX-License-Identifier: Apache-2.0
// One GPU as text: what it is, and its ladder as a table.
#pragma once

#include <string>
#include <string_view>

#include "facts/facts.h"
#include "report/check_text.h"
#include "report/style.h"

namespace headroom::report {

// One line per rung: "what ROCm offers to hipMalloc"; empty for a name that is none.
std::string_view rung_meaning(std::string_view rung, bool integrated);
std::string gpu_heading(const facts::Gpu& gpu, const Style& style);
std::string ladder_table(const facts::Gpu& gpu, Detail detail, const Style& style);

}  // namespace headroom::report
