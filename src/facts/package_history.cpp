// SPDX-License-Identifier: Apache-2.0
#include "facts/package_history.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>

#include "base/text.h"
#include "facts/moment.h"
#include "knowledge/knobs.h"

namespace headroom::facts {
namespace {

using Changes = std::vector<PackageChange>;

// Adds a change, and forgets the oldest ones where there are too many.
void add(PackageChange change, Changes& changes) {
  if (changes.size() >= 2 * most_history_changes) {
    changes.erase(changes.begin(),
                  changes.end() - static_cast<std::ptrdiff_t>(most_history_changes));
  }
  changes.push_back(std::move(change));
}

// The lines of a log's end. The first of them may be half a line, which is no change.
std::vector<std::string_view> lines_of(std::string_view log) {
  return split_lines(log.substr(log.size() - std::min(log.size(), most_history_bytes)));
}

std::string without_architecture(std::string_view package) {
  return std::string(package.substr(0, package.find(':')));
}

std::optional<PackageAction> action_of(std::string_view word) {
  if (word == "Install" || word == "install" || word == "installed") return PackageAction::install;
  if (word == "Upgrade" || word == "upgrade" || word == "upgraded") return PackageAction::upgrade;
  if (word == "Downgrade" || word == "downgraded") return PackageAction::downgrade;
  if (word == "Remove" || word == "Purge" || word == "remove" || word == "removed") {
    return PackageAction::remove;
  }
  return std::nullopt;
}

void set_versions(PackageChange& change, std::string_view first, std::string_view second) {
  const bool anew = change.action == PackageAction::install;
  if (!anew) change.from = trim(first);
  if (change.action != PackageAction::remove) change.to = trim(anew ? first : second);
}

// "linux-firmware:amd64 (1.0, 1.1), libdrm2:amd64 (2.4.120-2, 2.4.121-1)".
void add_apt_list(std::string_view list, const PackageChange& model, Changes& changes) {
  while (!list.empty()) {
    const std::size_t open = list.find(" (");
    const std::size_t close = list.find(')', open == std::string_view::npos ? list.size() : open);
    if (close == std::string_view::npos) return;
    const auto versions = split(list.substr(open + 2, close - open - 2), ',');
    PackageChange change = model;
    change.package = without_architecture(trim(list.substr(0, open)));
    set_versions(change, versions[0], versions.size() > 1 ? versions[1] : std::string_view());
    add(std::move(change), changes);
    list.remove_prefix(close + 1);
    if (list.starts_with(", ")) list.remove_prefix(2);
  }
}

// Takes "linux-firmware-20250311-1.fc41.noarch" apart; the name may hold hyphens, the others not.
std::optional<std::pair<std::string, std::string>> parse_rpm_name(std::string_view text) {
  const std::size_t arch = text.rfind('.');
  if (arch == std::string_view::npos) return std::nullopt;
  text = text.substr(0, arch);
  const std::size_t release = text.rfind('-');
  if (release == std::string_view::npos || release == 0) return std::nullopt;
  const std::size_t version = text.rfind('-', release - 1);
  if (version == std::string_view::npos || version == 0) return std::nullopt;
  return std::pair(std::string(text.substr(0, version)), std::string(text.substr(version + 1)));
}

std::string_view without_quotes(std::string_view word) {
  if (word.starts_with('"')) word.remove_prefix(1);
  if (word.ends_with('"')) word.remove_suffix(1);
  return word;
}

// "0:" is the epoch of a package that has none.
std::string without_no_epoch(std::string_view version) {
  return std::string(version.starts_with("0:") ? version.substr(2) : version);
}

PackageAction action_between(std::string_view before, std::string_view after) {
  const auto bare = [](std::string_view version) {
    const std::size_t epoch = version.find(':') + 1;  // 0 if there is none.
    return version.substr(epoch, version.find('-') - epoch);
  };
  const auto order = knowledge::compare_versions(bare(before), bare(after));
  return order && *order > 0 ? PackageAction::downgrade : PackageAction::upgrade;
}

}  // namespace

std::string_view to_string(PackageAction action) {
  switch (action) {
    case PackageAction::install:
      return "install";
    case PackageAction::upgrade:
      return "upgrade";
    case PackageAction::downgrade:
      return "downgrade";
    case PackageAction::remove:
      break;
  }
  return "remove";
}

Changes parse_apt_history(std::string_view log) {
  Changes changes;
  PackageChange model;
  for (const std::string_view line : lines_of(log)) {
    const std::size_t colon = line.find(": ");
    if (colon == std::string_view::npos) continue;
    const std::string_view key = line.substr(0, colon);
    if (key == "Start-Date") model.time = parse_iso_moment(line.substr(colon + 2));
    const auto action = action_of(key);
    if (!action || model.time.empty()) continue;
    model.action = *action;
    add_apt_list(line.substr(colon + 2), model, changes);
  }
  return changes;
}

Changes parse_dpkg_log(std::string_view log) {
  Changes changes;
  for (const std::string_view line : lines_of(log)) {
    const auto words = split_words(line);
    if (words.size() != 6) continue;
    const auto action = action_of(words[2]);
    PackageChange change;
    change.time = parse_iso_moment(line.substr(0, std::min<std::size_t>(line.size(), 19)));
    if (!action || change.time.empty()) continue;
    change.action = *action;
    change.package = without_architecture(words[3]);
    // An installation may replace what was removed but for its configuration: that is not in use.
    const bool anew = *action == PackageAction::install;
    set_versions(change, words[anew ? 5 : 4], words[5]);
    add(std::move(change), changes);
  }
  return changes;
}

Changes parse_pacman_log(std::string_view log) {
  Changes changes;
  for (const std::string_view line : lines_of(log)) {
    const std::size_t end = line.find("] [ALPM] ");
    if (!line.starts_with('[') || end == std::string_view::npos) continue;
    const auto words = split_words(line.substr(end + 9));
    if (words.size() != 3 && words.size() != 5) continue;
    const auto action = action_of(words[0]);
    PackageChange change{.time = parse_iso_moment(line.substr(1, end - 1)),
                         .manager = PackageManager::pacman};
    if (!action || change.time.empty() || !words[2].starts_with('(')) continue;
    change.action = *action;
    change.package = words[1];
    const auto bare = [](std::string_view word) {
      if (word.starts_with('(')) word.remove_prefix(1);
      if (word.ends_with(')')) word.remove_suffix(1);
      return word;
    };
    set_versions(change, bare(words[2]), bare(words.back()));
    add(std::move(change), changes);
  }
  return changes;
}

Changes parse_dnf_rpm_log(std::string_view log) {
  Changes changes;
  std::map<std::string, std::size_t> waiting;  // Package → its change without an old version.
  for (const std::string_view line : lines_of(log)) {
    const auto words = split_words(line);
    if (words.size() != 4 || !words[2].ends_with(':')) continue;
    const auto name = parse_rpm_name(words[3]);
    PackageChange change{.time = parse_iso_moment(words[0]), .manager = PackageManager::dnf};
    if (!name || change.time.empty()) continue;
    const std::string_view verb = words[2].substr(0, words[2].size() - 1);
    const auto waits = waiting.find(name->first);
    if (verb == "Upgraded" || verb == "Downgraded") {
      if (waits == waiting.end()) continue;
      changes[waits->second].from = name->second;
      waiting.erase(waits);
      continue;
    }
    const bool removed = verb == "Erase" || verb == "Removed";
    const auto action = removed               ? PackageAction::remove
                        : verb == "Installed" ? PackageAction::install
                                              : action_of(verb);
    if (!action) continue;
    change.action = *action;
    change.package = name->first;
    (removed ? change.from : change.to) = name->second;
    const bool replaces = *action == PackageAction::upgrade || *action == PackageAction::downgrade;
    if (replaces) waiting[name->first] = changes.size();
    changes.push_back(std::move(change));
  }
  if (changes.size() > most_history_changes) {
    changes.erase(changes.begin(),
                  changes.end() - static_cast<std::ptrdiff_t>(most_history_changes));
  }
  return changes;
}

Changes parse_dnf5_log(std::string_view log) {
  Changes changes;
  std::map<std::string, std::size_t> installed;  // In this transaction: package → its change.
  for (const std::string_view line : lines_of(log)) {
    const auto words = split_words(line);
    // "2026-05-01T08:00:01+0000 [815] INFO RPM callback install start "NEVRA" total 9084"
    if (words.size() < 7 || words[3] != "RPM" || words[4] != "callback") continue;
    if (words[5] == "transaction" && words[6].starts_with("start")) installed.clear();
    const bool anew = words[5] == "install";
    if ((!anew && words[5] != "uninstall") || words[6] != "start" || words.size() < 8) continue;
    const auto name = parse_rpm_name(without_quotes(words[7]));
    PackageChange change{.time = parse_iso_moment(words[0]), .manager = PackageManager::dnf};
    if (!name || change.time.empty()) continue;
    change.package = name->first;
    const std::string version = without_no_epoch(name->second);
    const auto newer = installed.find(change.package);
    if (anew) {
      change.to = version;
      // Kernels are kept side by side: that an old one goes is a change of its own.
      if (!change.package.starts_with("kernel")) installed[change.package] = changes.size();
    } else if (newer != installed.end()) {
      PackageChange& replaced = changes[newer->second];
      replaced.from = version;
      replaced.action = action_between(version, replaced.to);
      installed.erase(newer);
      continue;
    } else {
      change.action = PackageAction::remove;
      change.from = version;
    }
    changes.push_back(std::move(change));
  }
  if (changes.size() > most_history_changes) {
    changes.erase(changes.begin(),
                  changes.end() - static_cast<std::ptrdiff_t>(most_history_changes));
  }
  return changes;
}

Changes parse_zypp_history(std::string_view log) {
  Changes changes;
  std::map<std::string, std::string, std::less<>> versions;  // Of what was installed so far.
  for (const std::string_view line : lines_of(log)) {
    const auto fields = split(line, '|');
    if (line.starts_with('#') || fields.size() < 5) continue;
    const auto action = action_of(trim(fields[1]));
    PackageChange change{.time = parse_iso_moment(fields[0]), .manager = PackageManager::zypp};
    if (!action || change.time.empty()) continue;
    change.action = *action;
    change.package = fields[2];
    set_versions(change, fields[3], {});
    const auto before = versions.find(change.package);
    if (*action == PackageAction::install && before != versions.end()) {
      change.action = PackageAction::upgrade;
      change.from = before->second;
    }
    versions[change.package] = change.to;
    if (*action == PackageAction::remove) versions.erase(change.package);
    add(std::move(change), changes);
  }
  return changes;
}

Changes select_changes(Changes changes, std::string_view until, unsigned days) {
  const auto last = parse_day(until);
  if (!last) return {};
  std::erase_if(changes, [&](const PackageChange& change) {
    const auto day = parse_day(change.time);
    const bool later = change.time.substr(0, until.size()) > until;
    return !day || later || *day + std::chrono::days(days) < *last;
  });
  std::reverse(changes.begin(), changes.end());
  std::stable_sort(changes.begin(), changes.end(),
                   [](const auto& a, const auto& b) { return a.time > b.time; });
  return changes;
}

}  // namespace headroom::facts
