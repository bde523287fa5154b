// SPDX-License-Identifier: Apache-2.0
#include "history/schema.h"

#include <fmt/format.h>

#include <array>
#include <string>

#include "base/require.h"

namespace headroom::history {
namespace {

// What the file says of itself (PRAGMA application_id): "hdrm".
constexpr std::uint64_t application = 0x6864726d;

// Number i brings a file of version i to version i + 1. What is here is never changed, only added
// to: files of every version are out there.
constexpr std::array<const char*, 2> migrations = {
    R"sql(
CREATE TABLE runs (
  id INTEGER PRIMARY KEY,
  time TEXT NOT NULL,                 -- of the end, UTC, ISO 8601
  headroom TEXT NOT NULL,             -- the version that planned it
  family TEXT NOT NULL,
  model TEXT NOT NULL,
  architecture TEXT NOT NULL,         -- estimate::fingerprint()
  engine TEXT NOT NULL,
  engine_version TEXT NOT NULL,
  method TEXT NOT NULL,
  device TEXT NOT NULL,
  job TEXT NOT NULL,                  -- JSON: estimate/job_json.h
  predicted_allocated_bytes INTEGER,
  predicted_reserved_bytes INTEGER,
  predicted_device_bytes INTEGER,
  predicted_components TEXT NOT NULL, -- JSON, or ''
  measured_allocated_bytes INTEGER,
  measured_reserved_bytes INTEGER,
  measured_device_bytes INTEGER,
  measured_components TEXT NOT NULL,
  outcome TEXT NOT NULL               -- completed, stopped, out-of-memory
);
CREATE INDEX runs_of_a_kind ON runs (engine, family, method);
)sql",
    R"sql(
CREATE TABLE commands (                -- one row for each attempt of a supervised command
  id INTEGER PRIMARY KEY,
  time TEXT NOT NULL,                 -- of the end of its run, UTC, ISO 8601
  headroom TEXT NOT NULL,             -- the version that ran it
  name TEXT NOT NULL,
  command TEXT NOT NULL,              -- JSON: an array of its words as typed
  memory_bytes INTEGER,               -- the limit
  devices TEXT NOT NULL,              -- --device, or ''
  attempt INTEGER NOT NULL,           -- from 1, within its run
  micro INTEGER,
  accumulate INTEGER,
  exit_code INTEGER NOT NULL,
  signal INTEGER,
  out_of_memory INTEGER NOT NULL,     -- 0, 1
  cause TEXT NOT NULL,                -- its id, or ''
  duration_ms INTEGER NOT NULL,
  rss_bytes INTEGER,                  -- peaks
  cgroup_bytes INTEGER,
  vram_bytes INTEGER,
  gtt_bytes INTEGER
);
CREATE INDEX commands_of_a_name ON commands (name);
)sql"};

}  // namespace

std::uint64_t newest_version() {
  return migrations.size();
}

Result<std::optional<std::uint64_t>> read_version(Database& database) {
  HEADROOM_TRY(const std::uint64_t version, database.read_number("PRAGMA user_version"));
  HEADROOM_TRY(const std::uint64_t owner, database.read_number("PRAGMA application_id"));
  HEADROOM_TRY(const std::uint64_t tables,
               database.read_number("SELECT count(*) FROM sqlite_schema"));
  const bool is_new = version == 0 && owner == 0 && tables == 0;
  if (is_new || owner == application) return std::optional{version};
  return std::optional<std::uint64_t>{};
}

Status migrate(Database& database, std::uint64_t from) {
  require(database.is_in_transaction(), "a file is brought to a newer version as a whole");
  if (from >= migrations.size()) return Done{};
  for (std::uint64_t version = from; version < migrations.size(); ++version)
    HEADROOM_CHECK(database.run(migrations.at(version)));
  HEADROOM_CHECK(database.run(fmt::format("PRAGMA application_id = {}", application)));
  return database.run(fmt::format("PRAGMA user_version = {}", migrations.size()));
}

}  // namespace headroom::history
