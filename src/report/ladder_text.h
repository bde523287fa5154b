// SPDX-License-Identifier: Apache-2.0
// One GPU as text: what it is, its ladder as a table, its holders, and (verbose) every fact.
#pragma once

#include <string>

#include "facts/facts.h"
#include "report/check_text.h"
#include "report/style.h"

namespace headroom::report {

std::string gpu_heading(const facts::Gpu& gpu, const Style& style);
std::string ladder_table(const facts::Gpu& gpu, Detail detail, const Style& style);
std::string holders_table(const facts::Gpu& gpu, const Style& style);

}  // namespace headroom::report
