// SPDX-License-Identifier: Apache-2.0
// What package managers wrote down of what they changed. Each parser takes the text of one log and
// returns its changes in the log's order. A line that is not understood is passed over, because
// these logs hold scripts' output too, and a log may begin in mid-line.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "knowledge/package_table.h"

namespace headroom::facts {

using knowledge::PackageManager;

enum class PackageAction { install, upgrade, downgrade, remove };

std::string_view to_string(PackageAction action);

struct PackageChange {
  std::string time;  // "2026-05-01T10:00:00", in the machine's own time zone; all compare as text.
  std::string package = {};  // Without its architecture.
  std::string from = {};     // Empty if it was installed anew, or if the log does not say.
  std::string to = {};       // Empty if it was removed.
  PackageAction action = PackageAction::install;
  PackageManager manager = PackageManager::apt;
};

// Each parser looks at so much of the log's end, and keeps so many changes, the last ones.
constexpr std::size_t most_history_bytes = std::size_t{8} << 20U;
constexpr std::size_t most_history_changes = 50'000;

// /var/log/apt/history.log (apt: apt-pkg/deb/dpkgpm.cc, OpenLog).
std::vector<PackageChange> parse_apt_history(std::string_view log);
// /var/log/dpkg.log (dpkg(1), option --log).
std::vector<PackageChange> parse_dpkg_log(std::string_view log);
// /var/log/pacman.log (pacman: lib/libalpm/add.c and remove.c).
std::vector<PackageChange> parse_pacman_log(std::string_view log);
// /var/log/dnf.rpm.log of dnf 4 (dnf: dnf/yum/rpmtrans.py). An upgrade has a line for the new
// package and one for the old; they become one change.
std::vector<PackageChange> parse_dnf_rpm_log(std::string_view log);
// /var/log/dnf5.log of dnf 5 (dnf5: libdnf5/rpm/transaction.cpp, ts_callback), in UTC. What a
// transaction installs and removes under one name is one change; kernels stay side by side.
std::vector<PackageChange> parse_dnf5_log(std::string_view log);
// /var/log/zypp/history (libzypp: zypp/HistoryLog.h). It does not say what a package replaced; that
// is the version of the package's line before, where the log has one.
std::vector<PackageChange> parse_zypp_history(std::string_view log);

// Returns the changes of the `days` days that end at `until` (a time as in PackageChange; its first
// ten letters suffice), newest first. Returns nothing if `until` is no date.
std::vector<PackageChange> select_changes(std::vector<PackageChange> changes,
                                          std::string_view until, unsigned days);

}  // namespace headroom::facts
