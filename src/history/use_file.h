// SPDX-License-Identifier: Apache-2.0
// One look at the history's file, or one change of it, whichever table it is for: opened, seen to
// be ours, brought up to date, closed.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/result.h"
#include "history/database.h"

namespace headroom::history {

// Calls `read` with the file open for reading, in a transaction, and with the version that it has
// (0: it is empty); does not call it where there is no file. Fails, naming the path, where the file
// cannot be read, was made by a newer version, or is damaged.
Status read_file(const std::string& path,
                 const std::function<Status(Database&, std::uint64_t)>& read);

// Calls `change` within a transaction on a file of the newest version, which is made if need be;
// what it did is kept if it succeeds. A damaged file is moved aside and a new one begun: where it
// went is what is returned. Fails as add_run() in history.h says.
Result<std::optional<std::string>> change_file(const std::string& path,
                                               const std::function<Status(Database&)>& change);

}  // namespace headroom::history
