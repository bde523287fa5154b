// SPDX-License-Identifier: Apache-2.0
// The tables of the file, and how a file of an older version is brought up to date.
#pragma once

#include <cstdint>
#include <optional>

#include "base/result.h"
#include "history/database.h"

namespace headroom::history {

// The version that a file has: 0 for one that is new and empty, nothing for a database that is not
// ours. Requires: a transaction is open, or another writer may be seen half way.
Result<std::optional<std::uint64_t>> read_version(Database& database);

// The newest version, which this program writes.
std::uint64_t newest_version();

// Brings a file of version `from` to the newest. Requires: a transaction that may write is open,
// and read_version() gave `from` in it.
Status migrate(Database& database, std::uint64_t from);

}  // namespace headroom::history
