// SPDX-License-Identifier: Apache-2.0
// One GPU as text: what it is, and its ladder as a table.
#pragma once

#include <string>

#include "facts/facts.h"
#include "report/check_text.h"
#include "report/style.h"

namespace headroom::report {

std::string gpu_heading(const facts::Gpu& gpu, const Style& style);
std::string ladder_table(const facts::Gpu& gpu, Detail detail, const Style& style);

}  // namespace headroom::report
