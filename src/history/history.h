// SPDX-License-Identifier: Apache-2.0
// The local record of runs: what was planned for each and what was measured, in one SQLite file
// that only its owner can read. Several programs may use it at once. It is for learning only:
// whoever cannot read or write it goes on without.
//
// SQLite keeps a rollback journal beside the file, not a write-ahead log, which would need shared
// memory that home folders on a network do not have (sqlite.org/wal.html).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "estimate/past_run.h"

namespace headroom::history {

struct Runs {
  std::vector<estimate::PastRun> runs;  // Latest first.
  std::size_t unreadable = 0;           // Rows that are there and make no sense.
};

// All runs of the file; none if there is no file. Makes and changes nothing: a file of an older
// version is read as it is. Fails where it cannot be read, was made by a newer version, or is
// damaged.
Result<Runs> read_runs(const std::string& path);

// Adds a run; makes the file (0600) and its folder (0700) if need be, and brings an older one up to
// date. A damaged file is moved aside, to "history.db.damaged-TIME", and a new one begun; where it
// went is what is returned. Fails with no_permission, no_space, busy (another program has held it
// for five seconds) or unsupported (made by a newer version); the file is as it was then.
Result<std::optional<std::string>> add_run(const std::string& path, const estimate::PastRun& run);

}  // namespace headroom::history
