// SPDX-License-Identifier: Apache-2.0
// What changed on a machine since its jobs worked: of its histories the packages that matter, in
// the days before the first failure, newest first, and how to take each change back.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "facts/machine_history.h"
#include "findings/log_diagnosis.h"
#include "knowledge/package_table.h"
#include "logs/observation.h"

namespace headroom::findings {

// Packages of one kind that were changed on one day by one package manager.
struct RecentChange {
  facts::PackageChange change;  // The most telling one of them.
  knowledge::PackageKind kind = knowledge::PackageKind::kernel;
  std::vector<facts::PackageChange> others;  // Of other packages, one each.
  std::optional<Step> back;                  // How to take them back; nothing if that is not known.
};

struct RecentChanges {
  // What the days end with.
  enum class Until { first_failure, now, newest_change };

  static constexpr unsigned days = 14;
  std::string moment;  // "2026-05-01T10:00:00" or the day alone; empty: no history has a date.
  Until until = Until::now;
  std::vector<RecentChange> changes;  // Newest first.
  std::vector<facts::HistorySource> sources;

  // Whether there is any history to speak of.
  bool looked() const { return !sources.empty(); }
};

std::string_view to_string(RecentChanges::Until until);

// A package manager whose logs tell nothing of the first of the days, and the day that they begin
// with: "2026-05-01".
struct LateHistory {
  facts::PackageManager manager = facts::PackageManager::apt;
  std::string day;
};
std::vector<LateHistory> late_histories(const RecentChanges& recent);

// The moment of the first failure that logs date, as facts::parse_log_moment() returns it; empty if
// they date none.
std::string first_failure_moment(const logs::Observations& log, std::string_view now);

// `first_failure`: a moment, or empty; then the days end now or, where the machine's time is not
// known, with the newest change.
RecentChanges find_recent_changes(const facts::MachineHistory& history,
                                  const knowledge::PackageTable& table,
                                  const std::string& first_failure = {});

// "rocm-core from 6.3.2 to 6.4.0", "linux-firmware 20250311 was installed".
std::string describe(const facts::PackageChange& change);

// Adds to what to do the last change that may have brought the root cause about, and how to go
// back.
void add_last_change(const RecentChanges& recent, const knowledge::PackageTable& table,
                     LogDiagnosis& diagnosis);

}  // namespace headroom::findings
