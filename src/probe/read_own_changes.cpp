// SPDX-License-Identifier: Apache-2.0
// The journal of headroom's own changes, of which only the ids and states are read (plan/record.h
// says what else is in it).
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>

#include "base/document.h"
#include "base/text.h"
#include "facts/moment.h"
#include "machine/clock.h"
#include "probe/history_reading.h"

namespace headroom::probe {
namespace {

using facts::PackageAction;
using facts::PackageManager;
using machine::Files;

constexpr const char* journal = "/var/lib/headroom/changes";
constexpr std::size_t record_bytes_max = std::size_t{4} << 20U;
constexpr std::size_t newest_records = 64;

// Returns "2026-05-02T10:00:00" for "20260502T100000Z-ttm-cap"; empty for what is no such id.
std::string utc_time_of(std::string_view id) {
  if (id.size() < 18 || id[8] != 'T' || id[15] != 'Z') return "";
  return facts::parse_iso_moment(fmt::format("{}-{}-{}T{}:{}:{}", id.substr(0, 4), id.substr(4, 2),
                                             id.substr(6, 2), id.substr(9, 2), id.substr(11, 2),
                                             id.substr(13, 2)));
}

// Histories are in the machine's own time, which is known of this system alone.
std::string local_time_of(const Files& files, const std::string& utc) {
  const auto day = facts::parse_day(utc);
  if (!files.is_real() || !day) return utc;
  const auto part = [&](std::size_t start) {
    return static_cast<std::int64_t>(parse_u64(std::string_view(utc).substr(start, 2)).value_or(0));
  };
  const std::int64_t midnight = std::chrono::sys_seconds(*day).time_since_epoch().count();
  return machine::local_time(midnight + part(11) * 3600 + part(14) * 60 + part(17));
}

// The change is there, wholly or in part: undo would have something to do.
bool is_in_force(const Files& files, const std::string& folder) {
  const auto text = files.read_tail(folder + "/record.json", record_bytes_max);
  const auto record = text ? parse_json(*text) : text.error();
  if (!record || !record->is_object()) return false;
  const auto state = record->find("state");
  return state != record->end() && state->is_string() && *state != "undone";
}

}  // namespace

void read_own_changes(HistoryReading& reading) {
  auto names = reading.files.list(journal);
  if (!names) return reading.note(PackageManager::headroom, journal, names.error());
  reading.note(PackageManager::headroom, journal);
  std::erase_if(*names, [](const std::string& name) { return utc_time_of(name).empty(); });
  const std::size_t left_out = names->size() - std::min(names->size(), newest_records);
  for (std::size_t i = left_out; i < names->size(); ++i) {
    const std::string& id = (*names)[i];
    const std::size_t hyphen = id.find('-');
    if (hyphen == std::string::npos) continue;
    if (!is_in_force(reading.files, std::string(journal) + "/" + id)) continue;
    reading.add({local_time_of(reading.files, utc_time_of(id)), id.substr(hyphen + 1), "", id,
                 PackageAction::install, PackageManager::headroom});
  }
}

}  // namespace headroom::probe
