// SPDX-License-Identifier: Apache-2.0
// The part of the history that is about supervised commands: a row for each attempt, with its
// settings and its peaks. The file is the one of history.h, and what is said there of failures
// holds.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "supervisor/past_command.h"

namespace headroom::history {

struct Commands {
  std::vector<supervisor::PastCommand> attempts;  // Latest first.
  std::size_t unreadable = 0;                     // Rows that are there and make no sense.
};

// All attempts of the file; none if there is no file, or one from before commands were kept.
Result<Commands> read_commands(const std::string& path);

// Adds the attempts of one run, all or none.
Result<std::optional<std::string>> add_commands(
    const std::string& path, const std::vector<supervisor::PastCommand>& attempts);

}  // namespace headroom::history
