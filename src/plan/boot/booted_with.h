// SPDX-License-Identifier: Apache-2.0
// Whether this boot has the kernel command line that a change was for: the one question that has to
// be answered before a trial is made permanent.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "plan/change.h"

namespace headroom::plan {

// What is missing on the command line (/proc/cmdline), or still there, as sentences; empty: this
// boot is the one that the change was for, or it changed no command line.
std::vector<std::string> find_old_words(const Change& change, std::string_view command_line);

}  // namespace headroom::plan
