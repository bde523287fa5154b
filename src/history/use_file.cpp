// SPDX-License-Identifier: Apache-2.0
#include "history/use_file.h"

#include <fmt/format.h>

#include <utility>

#include "history/file.h"
#include "history/schema.h"

namespace headroom::history {
namespace {

Error newer(std::uint64_t version) {
  return {
      Errc::unsupported,
      fmt::format("expected a history of version {} at most, found {}", newest_version(), version),
      "use the newer headroom that made it"};
}

Error foreign() {
  return {Errc::unsupported, "expected headroom's history, found another program's database",
          "move it elsewhere"};
}

Status change_once(const std::string& path, const std::function<Status(Database&)>& change) {
  HEADROOM_CHECK(make_file(path));
  HEADROOM_TRY(Database database, Database::open(path, Database::Access::read_write));
  HEADROOM_TRY(Transaction transaction, Transaction::begin(database, Database::Access::read_write));
  HEADROOM_TRY(const auto version, read_version(database));
  if (!version) return foreign();
  if (*version > newest_version()) return newer(*version);
  HEADROOM_CHECK(migrate(database, *version));
  HEADROOM_CHECK(change(database));
  return transaction.commit();
}

Status read_every_row(Database& database, std::uint64_t version) {
  if (version >= 1) HEADROOM_CHECK(database.run("SELECT * FROM runs"));
  if (version >= 2) HEADROOM_CHECK(database.run("SELECT * FROM commands"));
  return Done{};
}

}  // namespace

Status read_file(const std::string& path,
                 const std::function<Status(Database&, std::uint64_t)>& read) {
  if (!is_there(path)) return Done{};
  auto database = Database::open(path, Database::Access::read_only);
  if (!database) return std::move(database).error().in(path);
  const auto moment = Transaction::begin(*database, Database::Access::read_only);
  if (!moment) return Error(moment.error()).in(path);
  const auto version = read_version(*database);
  if (!version) return Error(version.error()).in(path);
  if (!*version) return foreign().in(path);
  if (**version > newest_version()) return newer(**version).in(path);
  const Status done = read(*database, **version);
  if (!done) return Error(done.error()).in(path);
  return Done{};
}

Result<std::optional<std::string>> change_file(const std::string& path,
                                               const std::function<Status(Database&)>& change) {
  const Status changed = change_once(path, change);
  if (changed) return std::optional<std::string>{};
  if (changed.error().code != Errc::invalid) return Error(changed.error()).in(path);
  const auto is_damaged = [&path] {
    const auto found = read_file(path, read_every_row);
    return !found && found.error().code == Errc::invalid;
  };
  HEADROOM_TRY(const std::string aside, move_damaged_aside(path, is_damaged));
  const Status again = change_once(path, change);
  if (!again) return Error(again.error()).in(path);
  return aside.empty() ? std::nullopt : std::optional{aside};
}

}  // namespace headroom::history
