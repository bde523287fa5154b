// SPDX-License-Identifier: Apache-2.0
// `headroom fix` without a name: what could be mended on this machine, and the command for each.
#pragma once

#include <string>
#include <vector>

#include "plan/fix.h"
#include "report/style.h"

namespace headroom::report {

// `here` are the fixes that would change something, in the order of the table.
std::string fixes_to_text(const std::vector<const plan::Fix*>& here, const Style& style);
// Schema headroom.fixes/1: every fix, with whether it applies here.
std::string fixes_to_json_text(const std::vector<const plan::Fix*>& here);

}  // namespace headroom::report
