// SPDX-License-Identifier: Apache-2.0
#include "probe/read_history.h"

#include <fmt/format.h>

#include <algorithm>

#include "machine/log_tail.h"
#include "probe/history_reading.h"
#include "probe/read_text.h"

namespace headroom::probe {
namespace {

using facts::MachineHistory;
using facts::PackageChange;
using facts::PackageManager;
using Parser = std::vector<PackageChange> (*)(std::string_view);

constexpr std::size_t log_bytes_max = std::size_t{4} << 20U;
// logrotate keeps a year of months; a first failure is rarely older than this.
constexpr int rotated_logs = 4;
constexpr std::size_t kept_changes_max = 1000;
// A clock that was not set yet writes 1970.
constexpr std::string_view first_plausible = "2000";

// Returns whether the log was there, even if it could not be read.
bool read_log(HistoryReading& reading, PackageManager manager, const std::string& path,
              Parser parse) {
  const auto text = machine::read_log_tail(reading.files, path, log_bytes_max);
  if (!text) {
    reading.note(manager, path, text.error());
    return text.error().code != Errc::not_found;
  }
  std::string since;
  for (PackageChange& change : parse(*text)) {
    const bool is_set = change.time > first_plausible;
    if (is_set && (since.empty() || change.time < since)) since = change.time;
    reading.add(std::move(change));
  }
  reading.note_log(manager, path, std::move(since));
  return true;
}

// A log and what logrotate made of it before, as far as that is there.
bool read_rotated(HistoryReading& reading, PackageManager manager, const std::string& path,
                  Parser parse) {
  if (!read_log(reading, manager, path, parse)) return false;
  for (int number = 1; number <= rotated_logs; ++number) {
    const std::string plain = fmt::format("{}.{}", path, number);
    const bool found = read_log(reading, manager, plain, parse) ||
                       read_log(reading, manager, plain + ".gz", parse) ||
                       read_log(reading, manager, plain + ".xz", parse) ||
                       read_log(reading, manager, plain + ".zst", parse);
    if (!found) break;
  }
  return true;
}

void read_package_managers(HistoryReading& reading) {
  using namespace facts;
  // dpkg's log has what apt's has, and what was installed without apt; it names no transactions.
  if (!read_rotated(reading, PackageManager::apt, "/var/log/apt/history.log", parse_apt_history)) {
    read_rotated(reading, PackageManager::apt, "/var/log/dpkg.log", parse_dpkg_log);
  }
  read_rotated(reading, PackageManager::pacman, "/var/log/pacman.log", parse_pacman_log);
  read_rotated(reading, PackageManager::dnf, "/var/log/dnf.rpm.log", parse_dnf_rpm_log);
  // dnf 5 also keeps a database, which has the same.
  const bool logged =
      read_rotated(reading, PackageManager::dnf, "/var/log/dnf5.log", parse_dnf5_log);
  constexpr const char* dnf5 = "/usr/lib/sysimage/libdnf5/transaction_history.sqlite";
  if (!logged && reading.files.exists(dnf5)) {
    reading.note(PackageManager::dnf, dnf5,
                 "dnf 5's log is not there, and its database is not read: dnf history list");
  }
  read_rotated(reading, PackageManager::zypp, "/var/log/zypp/history", parse_zypp_history);
}

// pip leaves no log: the folder of a package's metadata is as old as its installation.
void read_pip(HistoryReading& reading, const facts::PythonStack& python) {
  bool noted = false;
  for (const facts::Package& package : python.packages) {
    if (reading.table.family(PackageManager::pip, package.name) == nullptr) continue;
    const auto time = reading.files.modified(package.path);
    const std::string folder = package.path.substr(0, package.path.rfind('/'));
    if (time) {
      reading.add({*time, package.name, "", package.version, facts::PackageAction::install,
                   PackageManager::pip});
    }
    if (noted) continue;
    noted = true;
    if (time) {
      reading.note(PackageManager::pip, folder);
    } else if (time.error().code == Errc::not_this_system) {
      reading.note(PackageManager::pip, folder, "a copy does not say when packages were installed");
    } else {
      reading.note(PackageManager::pip, folder, time.error());
    }
  }
}

}  // namespace

void HistoryReading::add(PackageChange change) {
  if (table.family(change.manager, change.package) == nullptr) return;
  history_.changes.push_back(std::move(change));
}

void HistoryReading::note(PackageManager manager, const std::string& path) {
  history_.sources.push_back({manager, path, ""});
}

void HistoryReading::note_log(PackageManager manager, const std::string& path, std::string since) {
  history_.sources.push_back({manager, path, "", std::move(since)});
}

void HistoryReading::note(PackageManager manager, const std::string& path, const Error& error) {
  if (error.code == Errc::not_found) return;
  note(manager, path, facts::to_string(to_missing(error)));
}

void HistoryReading::note(PackageManager manager, const std::string& path, std::string why_not) {
  history_.sources.push_back({manager, path, std::move(why_not)});
}

MachineHistory HistoryReading::take(const std::string& now) {
  std::vector<PackageChange>& changes = history_.changes;
  std::stable_sort(changes.begin(), changes.end(),
                   [](const PackageChange& a, const PackageChange& b) { return a.time < b.time; });
  if (changes.size() > kept_changes_max) {
    changes.erase(changes.begin(), changes.end() - kept_changes_max);
  }
  history_.now = now;
  return std::move(history_);
}

MachineHistory read_history(const machine::Files& files, const knowledge::PackageTable& table,
                            const facts::PythonStack& python, const std::string& now) {
  const auto answer = files.derive("history", [&]() -> Result<std::string> {
    HistoryReading reading(files, table);
    read_package_managers(reading);
    read_dkms(reading);
    read_pip(reading, python);
    read_generations(reading);
    read_own_changes(reading);
    read_docker_images(reading);
    read_podman_images(reading);
    return facts::to_text(reading.take(files.is_real() ? now : ""));
  });
  return answer ? facts::parse_machine_history(*answer) : MachineHistory();
}

}  // namespace headroom::probe
