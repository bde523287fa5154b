// SPDX-License-Identifier: Apache-2.0
#include "history/history.h"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "history/database.h"
#include "history/file.h"
#include "history/schema.h"

namespace headroom::history {
namespace {

using estimate::MemoryPeak;
using estimate::PastRun;

constexpr auto columns =
    "time, headroom, family, model, architecture, engine, engine_version, method, device, job, "
    "predicted_allocated_bytes, predicted_reserved_bytes, predicted_device_bytes, "
    "predicted_components, measured_allocated_bytes, measured_reserved_bytes, "
    "measured_device_bytes, measured_components, outcome";

// In the order of `columns`; what is written is what is read.
constexpr std::array text_fields = {
    &PastRun::time,           &PastRun::headroom,     &PastRun::family,
    &PastRun::model,          &PastRun::architecture, &PastRun::engine,
    &PastRun::engine_version, &PastRun::method,       &PastRun::device};

std::string components_text(const MemoryPeak& peak) {
  if (!peak.components) return "";
  return to_json(MemoryPeak{{}, {}, {}, peak.components}).dump();
}

void bind_peak(Statement& statement, const MemoryPeak& peak) {
  statement.bind(peak.allocated_bytes).bind(peak.reserved_bytes).bind(peak.device_bytes);
  statement.bind(components_text(peak));
}

Result<MemoryPeak> read_peak(const Statement& row, int first) {
  MemoryPeak peak;
  const std::string components = row.text(first + 3);
  if (!components.empty()) {
    HEADROOM_TRY(const Json json, parse_json(components));
    HEADROOM_TRY(peak, estimate::parse_memory_peak(json));
  }
  peak.allocated_bytes = row.number(first);
  peak.reserved_bytes = row.number(first + 1);
  peak.device_bytes = row.number(first + 2);
  return peak;
}

Result<PastRun> read_row(const Statement& row) {
  PastRun run;
  int column = 0;
  for (const auto field : text_fields) run.*field = row.text(column++);
  HEADROOM_TRY(run.job, parse_json(row.text(column++)));
  HEADROOM_TRY(run.predicted, read_peak(row, column));
  HEADROOM_TRY(run.measured, read_peak(row, column + 4));
  const auto outcome = estimate::parse_outcome(row.text(column + 8));
  if (!outcome) return Error{Errc::invalid, "the row has an outcome that nobody knows", ""};
  run.outcome = *outcome;
  return run;
}

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

Status insert(Database& database, const PastRun& run) {
  HEADROOM_TRY(Transaction transaction, Transaction::begin(database, Database::Access::read_write));
  HEADROOM_TRY(const auto version, read_version(database));
  if (!version) return foreign();
  if (*version > newest_version()) return newer(*version);
  HEADROOM_CHECK(migrate(database, *version));
  HEADROOM_TRY(Statement statement,
               database.prepare(fmt::format("INSERT INTO runs ({}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, "
                                            "?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                                            columns)));
  for (const auto field : text_fields) statement.bind(run.*field);
  statement.bind(run.job.dump(-1, ' ', true, Json::error_handler_t::replace));
  bind_peak(statement, run.predicted);
  bind_peak(statement, run.measured);
  statement.bind(std::string(to_string(run.outcome)));
  HEADROOM_CHECK(statement.step());
  return transaction.commit();
}

Status add_to(const std::string& path, const PastRun& run) {
  HEADROOM_CHECK(make_file(path));
  HEADROOM_TRY(Database database, Database::open(path, Database::Access::read_write));
  return insert(database, run);
}

}  // namespace

Result<Runs> read_runs(const std::string& path) {
  if (!is_there(path)) return Runs{};
  auto database = Database::open(path, Database::Access::read_only);
  if (!database) return std::move(database).error().in(path);
  const auto moment = Transaction::begin(*database, Database::Access::read_only);
  if (!moment) return Error(moment.error()).in(path);
  const auto version = read_version(*database);
  if (!version) return Error(version.error()).in(path);
  if (!*version) return foreign().in(path);
  if (**version > newest_version()) return newer(**version).in(path);
  if (**version == 0) return Runs{};
  HEADROOM_TRY(Statement rows, database->prepare(fmt::format(
                                   "SELECT {} FROM runs ORDER BY time DESC, id DESC", columns)));
  Runs found;
  for (;;) {
    const auto more = rows.step();
    if (!more) return Error(more.error()).in(path);
    if (!*more) return found;
    auto run = read_row(rows);
    if (run) {
      found.runs.push_back(*std::move(run));
    } else {
      ++found.unreadable;
    }
  }
}

Result<std::optional<std::string>> add_run(const std::string& path, const PastRun& run) {
  const Status added = add_to(path, run);
  if (added) return std::optional<std::string>{};
  if (added.error().code != Errc::invalid) return Error(added.error()).in(path);
  const auto is_damaged = [&path] {
    const auto found = read_runs(path);
    return !found && found.error().code == Errc::invalid;
  };
  HEADROOM_TRY(const std::string aside, move_damaged_aside(path, is_damaged));
  const Status again = add_to(path, run);
  if (!again) return Error(again.error()).in(path);
  return aside.empty() ? std::nullopt : std::optional{aside};
}

}  // namespace headroom::history
