// SPDX-License-Identifier: Apache-2.0
#include "history/commands.h"

#include <fmt/format.h>

#include <utility>

#include "base/document.h"
#include "base/json_text.h"
#include "history/use_file.h"

namespace headroom::history {
namespace {

using supervisor::PastCommand;

constexpr std::uint64_t first_version = 2;  // Of the file, that has the table.

constexpr auto columns =
    "time, headroom, name, command, memory_bytes, devices, attempt, micro, accumulate, exit_code, "
    "signal, out_of_memory, cause, duration_ms, rss_bytes, cgroup_bytes, vram_bytes, gtt_bytes";

std::optional<std::uint64_t> number_of(const std::optional<Bytes>& bytes) {
  return bytes ? std::optional(bytes->value) : std::nullopt;
}

std::optional<Bytes> bytes_of(const std::optional<std::uint64_t>& number) {
  return number ? std::optional(Bytes{*number}) : std::nullopt;
}

Status insert(Database& database, const PastCommand& past) {
  HEADROOM_TRY(Statement statement, database.prepare(fmt::format(
                                        "INSERT INTO commands ({}) VALUES (?, ?, ?, ?, ?, ?, ?, "
                                        "?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                                        columns)));
  std::optional<std::uint64_t> signal;
  if (past.exit.signal) signal = static_cast<std::uint64_t>(*past.exit.signal);
  statement.bind(past.time).bind(past.headroom).bind(past.name);
  statement.bind(to_json_text(Json(past.command))).bind(number_of(past.memory)).bind(past.devices);
  statement.bind(past.attempt).bind(past.settings.micro).bind(past.settings.accumulate);
  statement.bind(static_cast<std::uint64_t>(past.exit.code)).bind(signal);
  statement.bind(std::uint64_t{past.out_of_memory}).bind(past.cause).bind(past.duration_ms);
  statement.bind(number_of(past.peak.rss)).bind(number_of(past.peak.cgroup));
  statement.bind(number_of(past.peak.vram)).bind(number_of(past.peak.gtt));
  HEADROOM_CHECK(statement.step());
  return Done{};
}

Result<std::vector<std::string>> parse_words(const std::string& text) {
  HEADROOM_TRY(const Json json, parse_json(text));
  std::vector<std::string> words;
  if (!json.is_array()) return Error{Errc::invalid, "expected an array of words", ""};
  for (const Json& word : json) {
    if (!word.is_string()) return Error{Errc::invalid, "expected an array of words", ""};
    words.push_back(word.get<std::string>());
  }
  return words;
}

Result<PastCommand> read_row(const Statement& row) {
  PastCommand past;
  int column = 0;
  past.time = row.text(column++);
  past.headroom = row.text(column++);
  past.name = row.text(column++);
  HEADROOM_TRY(past.command, parse_words(row.text(column++)));
  past.memory = bytes_of(row.number(column++));
  past.devices = row.text(column++);
  past.attempt = row.number(column++).value_or(1);
  past.settings.micro = row.number(column++);
  past.settings.accumulate = row.number(column++);
  past.exit.code = static_cast<int>(row.number(column++).value_or(0));
  if (const auto signal = row.number(column++)) past.exit.signal = static_cast<int>(*signal);
  past.out_of_memory = row.number(column++).value_or(0) != 0;
  past.cause = row.text(column++);
  past.duration_ms = row.number(column++).value_or(0);
  past.peak.rss = bytes_of(row.number(column++));
  past.peak.cgroup = bytes_of(row.number(column++));
  past.peak.vram = bytes_of(row.number(column++));
  past.peak.gtt = bytes_of(row.number(column));
  return past;
}

}  // namespace

Result<Commands> read_commands(const std::string& path) {
  Commands found;
  const auto read_all = [&found](Database& database, std::uint64_t version) -> Status {
    if (version < first_version) return Done{};
    HEADROOM_TRY(Statement rows,
                 database.prepare(
                     fmt::format("SELECT {} FROM commands ORDER BY time DESC, id DESC", columns)));
    for (;;) {
      HEADROOM_TRY(const bool more, rows.step());
      if (!more) return Done{};
      auto past = read_row(rows);
      if (past) {
        found.attempts.push_back(*std::move(past));
      } else {
        ++found.unreadable;
      }
    }
  };
  HEADROOM_CHECK(read_file(path, read_all));
  return found;
}

Result<std::optional<std::string>> add_commands(const std::string& path,
                                                const std::vector<PastCommand>& attempts) {
  return change_file(path, [&attempts](Database& database) -> Status {
    for (const PastCommand& past : attempts) HEADROOM_CHECK(insert(database, past));
    return Done{};
  });
}

}  // namespace headroom::history
