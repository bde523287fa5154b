// SPDX-License-Identifier: Apache-2.0
// The file that the history is kept in, as a file: made for its owner alone, and moved aside where
// it is damaged.
#pragma once

#include <functional>
#include <string>

#include "base/result.h"

namespace headroom::history {

bool is_there(const std::string& path);

// Makes an empty file (0600), which SQLite takes for a new database, and the folders above it that
// are missing (0700). Does nothing where it is there already.
Status make_file(const std::string& path);

// Renames the file to PATH.damaged-TIME and returns that name, or "" where `is_damaged` finds it
// whole again: of several programs that find it damaged, one moves it. Its journal goes with it, so
// that SQLite does not play it into the new one.
Result<std::string> move_damaged_aside(const std::string& path,
                                       const std::function<bool()>& is_damaged);

}  // namespace headroom::history
