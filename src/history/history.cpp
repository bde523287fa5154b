// SPDX-License-Identifier: Apache-2.0
#include "history/history.h"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "history/database.h"
#include "history/use_file.h"

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

Status insert(Database& database, const PastRun& run) {
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
  return Done{};
}

}  // namespace

Result<Runs> read_runs(const std::string& path) {
  Runs found;
  const auto read_all = [&found](Database& database, std::uint64_t version) -> Status {
    if (version == 0) return Done{};
    HEADROOM_TRY(Statement rows, database.prepare(fmt::format(
                                     "SELECT {} FROM runs ORDER BY time DESC, id DESC", columns)));
    for (;;) {
      HEADROOM_TRY(const bool more, rows.step());
      if (!more) return Done{};
      auto run = read_row(rows);
      if (run) {
        found.runs.push_back(*std::move(run));
      } else {
        ++found.unreadable;
      }
    }
  };
  HEADROOM_CHECK(read_file(path, read_all));
  return found;
}

Result<std::optional<std::string>> add_run(const std::string& path, const PastRun& run) {
  return change_file(path, [&run](Database& database) { return insert(database, run); });
}

}  // namespace headroom::history
