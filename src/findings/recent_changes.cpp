// SPDX-License-Identifier: Apache-2.0
#include "findings/recent_changes.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "facts/moment.h"

namespace headroom::findings {
namespace {

using facts::PackageAction;
using facts::PackageChange;
using knowledge::PackageKind;
using knowledge::PackageTable;
using knowledge::WayBack;

constexpr std::size_t day_length = 10;  // Of "2026-05-01".

// How telling a package is: the place of its name in the table, families first. Less is more.
struct Rank {
  bool is_removal = true;
  std::size_t family = 0, name = 0;
  std::size_t length = 0;  // "libamdhip64-5" says more than "libamdhip64-dev".
  auto operator<=>(const Rank&) const = default;
};

Rank rank_of(const PackageChange& change, const knowledge::PackageFamily& family,
             const PackageTable& table) {
  const auto name = std::find_if(family.names.begin(), family.names.end(), [&](const auto& one) {
    return knowledge::matches_package(one, change.package);
  });
  return {change.action == PackageAction::remove,
          static_cast<std::size_t>(&family - table.families.data()),
          static_cast<std::size_t>(name - family.names.begin()), change.package.size()};
}

std::string filled_in(std::string text, const PackageChange& change) {
  const std::pair<std::string_view, const std::string&> values[] = {
      {"{package}", change.package}, {"{from}", change.from}, {"{to}", change.to}};
  for (const auto& [name, value] : values) {
    for (std::size_t at = text.find(name); at != std::string::npos;
         at = text.find(name, at + value.size())) {
      text.replace(at, name.size(), value);
    }
  }
  return text;
}

// A package's name or version that a shell would take apart, or take for a home folder, is no part
// of a command.
bool is_plain(std::string_view word) {
  return word.find_first_not_of(
             "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
             ".+-_:~^/@") == std::string_view::npos &&
         !word.starts_with('-') && !word.starts_with('~') &&
         word.find(":~") == std::string_view::npos;
}

bool can_be_typed(const PackageChange& change) {
  // Images alone have slashes in their names. A version with one would lead to some other file.
  const bool may_have_slash = knowledge::manages_images(change.manager);
  const std::string_view words[] = {change.package, change.from, change.to};
  return std::all_of(std::begin(words), std::end(words), [&](std::string_view word) {
    return is_plain(word) && (may_have_slash || word.find('/') == std::string_view::npos);
  });
}

bool fits(const WayBack& way, const PackageChange& change, PackageKind kind) {
  const bool of_kind =
      way.kinds.empty() || std::find(way.kinds.begin(), way.kinds.end(), kind) != way.kinds.end();
  const bool is_new = change.action == PackageAction::install && change.from.empty();
  return way.manager == change.manager && of_kind && (!way.needs_from || !change.from.empty()) &&
         (!way.of_installed || is_new);
}

// The way back for all packages of a group: one alone seldom fits the others' newer versions.
Step step_back(const WayBack& way, const RecentChange& recent) {
  constexpr std::size_t most_in_command = 8;
  std::string says = filled_in(way.says, recent.change);
  std::string command = filled_in(way.command, recent.change);
  const std::string word = way.command.substr(way.command.rfind(' ') + 1);
  const bool is_repeatable = way.command.find('{') + word.size() >= way.command.size();
  if (word.find('{') == std::string::npos || !is_repeatable) return sentence_with(says, command);
  std::size_t left_out = 0;
  std::size_t in_command = 1;
  for (const PackageChange& one : recent.others) {
    const bool is_same = fits(way, one, recent.kind) && can_be_typed(one);
    if (!is_same || ++in_command > most_in_command) {
      left_out += is_same ? 1 : 0;
    } else {
      command += " " + filled_in(word, one);
    }
  }
  if (left_out > 0) {
    says += fmt::format(", and the same for the other {} that changed with it", left_out);
  }
  return sentence_with(says, command);
}

std::optional<Step> find_way_back(const RecentChange& recent, const PackageTable& table) {
  const PackageChange& change = recent.change;
  for (const WayBack& way : table.ways) {
    if (!fits(way, change, recent.kind)) continue;
    if (way.command.empty()) return sentence(filled_in(way.says, change));
    const bool is_constant = way.command.find('{') == std::string::npos;
    if (is_constant || can_be_typed(change)) return step_back(way, recent);
  }
  return std::nullopt;
}

// The changes of one kind, one day and one manager, put together.
class Groups {
 public:
  explicit Groups(const PackageTable& table) : table_(table) {}

  void add(PackageChange change) {
    const auto* family = table_.family(change.manager, change.package);
    if (family == nullptr) return;
    const Rank rank = rank_of(change, *family, table_);
    const auto group = std::find_if(groups_.begin(), groups_.end(), [&](const Group& one) {
      const PackageChange& lead = one.recent.change;
      return one.recent.kind == family->kind && lead.manager == change.manager &&
             lead.time.substr(0, day_length) == change.time.substr(0, day_length);
    });
    if (group == groups_.end()) {
      groups_.push_back({{std::move(change), family->kind, {}, {}}, rank});
      return;
    }
    if (rank < group->rank) {
      std::swap(group->recent.change, change);
      group->rank = rank;
    }
    auto& others = group->recent.others;
    const bool again = change.package == group->recent.change.package ||
                       std::any_of(others.begin(), others.end(), [&](const PackageChange& one) {
                         return one.package == change.package;
                       });
    if (!again) others.push_back(std::move(change));
  }

  std::vector<RecentChange> take() {
    std::vector<RecentChange> all;
    for (Group& one : groups_) {
      one.recent.back = find_way_back(one.recent, table_);
      all.push_back(std::move(one.recent));
    }
    return all;
  }

 private:
  struct Group {
    RecentChange recent;
    Rank rank;
  };
  const PackageTable& table_;
  std::vector<Group> groups_;
};

void choose_end(const facts::MachineHistory& history, const std::string& first_failure,
                RecentChanges& recent) {
  if (!first_failure.empty()) {
    recent.moment = first_failure;
    recent.until = RecentChanges::Until::first_failure;
    return;
  }
  recent.moment = history.now;
  if (!history.now.empty()) return;
  recent.until = RecentChanges::Until::newest_change;
  for (const PackageChange& one : history.changes) {
    recent.moment = std::max(recent.moment, one.time);
  }
}

// A clock that was not set yet writes 1970, and one that is wrong writes what is to come.
bool is_plausible(std::string_view moment, std::string_view now) {
  constexpr std::string_view first_day = "2000";
  return moment > first_day &&
         (now.empty() || moment.substr(0, day_length) <= now.substr(0, day_length));
}

Step step_of(const RecentChange& recent) {
  std::string text = fmt::format("Last changed: {}", describe(recent.change));
  if (!recent.others.empty()) text += fmt::format(", with {} more", recent.others.size());
  text += fmt::format(", on {}", recent.change.time.substr(0, day_length));
  if (!recent.back) return sentence(text);
  text += ". To go back: " + recent.back->text;
  return recent.back->run.empty() ? sentence(text) : sentence_with(text, recent.back->run);
}

}  // namespace

std::string_view to_string(RecentChanges::Until until) {
  switch (until) {
    case RecentChanges::Until::first_failure:
      return "first-failure";
    case RecentChanges::Until::newest_change:
      return "newest-change";
    case RecentChanges::Until::now:
      break;
  }
  return "now";
}

std::vector<LateHistory> late_histories(const RecentChanges& recent) {
  std::vector<LateHistory> begun;
  for (const facts::HistorySource& one : recent.sources) {
    if (!one.read() || one.since.empty()) continue;
    const std::string day = one.since.substr(0, day_length);
    const auto known = std::find_if(begun.begin(), begun.end(), [&](const LateHistory& other) {
      return other.manager == one.manager;
    });
    if (known == begun.end()) {
      begun.push_back({one.manager, day});
    } else {
      known->day = std::min(known->day, day);
    }
  }
  const auto last = facts::parse_day(recent.moment);
  std::erase_if(begun, [&](const LateHistory& one) {
    const auto first = facts::parse_day(one.day);
    return !last || !first || *first + std::chrono::days(RecentChanges::days) <= *last;
  });
  return begun;
}

std::string describe(const PackageChange& change) {
  if (change.manager == facts::PackageManager::headroom) {
    return fmt::format("headroom fix {} was applied", change.package);
  }
  if (knowledge::manages_images(change.manager)) {
    return fmt::format("the image {} was pulled{}", change.package,
                       change.from.empty() ? "" : " again and is a different one now");
  }
  switch (change.action) {
    case PackageAction::remove:
      return fmt::format("{} {} was removed", change.package, change.from);
    case PackageAction::install:
      return change.to.empty() ? fmt::format("{} was installed", change.package)
                               : fmt::format("{} {} was installed", change.package, change.to);
    case PackageAction::upgrade:
    case PackageAction::downgrade:
      break;
  }
  return change.from.empty()
             ? fmt::format("{} to {}", change.package, change.to)
             : fmt::format("{} from {} to {}", change.package, change.from, change.to);
}

std::string first_failure_moment(const logs::Observations& log, std::string_view now) {
  std::string first;
  for (const logs::Observation& one : log.all()) {
    const knowledge::Role role = one.signature->role;
    if (role != knowledge::Role::failure && role != knowledge::Role::consequence) continue;
    const std::string moment = facts::parse_log_moment(one.time, now);
    if (is_plausible(moment, now) && (first.empty() || moment < first)) first = moment;
  }
  return first;
}

RecentChanges find_recent_changes(const facts::MachineHistory& history, const PackageTable& table,
                                  const std::string& first_failure) {
  RecentChanges recent;
  recent.sources = history.sources;
  choose_end(history, first_failure, recent);
  Groups groups(table);
  for (PackageChange& one :
       facts::select_changes(history.changes, recent.moment, RecentChanges::days)) {
    groups.add(std::move(one));
  }
  recent.changes = groups.take();
  return recent;
}

void add_last_change(const RecentChanges& recent, const PackageTable& table,
                     LogDiagnosis& diagnosis) {
  const knowledge::Suspects* suspects = table.suspects_of(diagnosis.cause.id);
  if (suspects == nullptr) return;
  const RecentChange* last = nullptr;
  std::size_t last_place = 0;
  for (const RecentChange& one : recent.changes) {
    const auto kind = std::find(suspects->kinds.begin(), suspects->kinds.end(), one.kind);
    if (kind == suspects->kinds.end()) continue;
    const auto place = static_cast<std::size_t>(kind - suspects->kinds.begin());
    const bool same_day = last != nullptr && last->change.time.substr(0, day_length) ==
                                                 one.change.time.substr(0, day_length);
    // Of one day's changes, the kind that the cause is named for comes first.
    if (last != nullptr && (!same_day || place >= last_place)) continue;
    last = &one;
    last_place = place;
  }
  if (last != nullptr) insert_before_reboot(step_of(*last), diagnosis.cause.fix);
}

}  // namespace headroom::findings
