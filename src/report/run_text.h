// SPDX-License-Identifier: Apache-2.0
// What is said of a supervised command to the person who started it: one line when it starts, at
// most ten when it has ended. Each line stands for itself, since it is printed between those of the
// command.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "supervisor/attempt.h"

namespace headroom::report {

struct RunWords {
  std::string command;          // As it was typed behind "--", to be typed again.
  std::optional<Bytes> memory;  // The limit.
  bool takes_settings = false;  // A smaller micro changes the command.
  bool has_allocator = false;   // It runs on headroom's allocator.
  std::string ranks = {};       // "--ranks 2 ", to be typed again; empty: one.
};

// "supervising train.py; its memory is limited to 8.00 GiB by a control group (version 2)".
std::string start_line(const supervisor::RunReport& begun, const RunWords& words);

// What happened, the root cause with its evidence, what was tried, what it took, what to do. Of a
// run that completed: what is of use the next time, or its peak alone. Empty where nothing was
// started.
std::vector<std::string> end_lines(const supervisor::RunReport& report, const RunWords& words);

}  // namespace headroom::report
