// SPDX-License-Identifier: Apache-2.0
#include "facts/machine_history.h"

#include <algorithm>

#include "base/text.h"
#include "facts/moment.h"

namespace headroom::facts {
namespace {

constexpr std::size_t longest_field = 256;

std::string field(std::string_view text) {
  std::string kept(text.substr(0, longest_field));
  std::erase_if(kept, [](char c) { return c < ' ' || c > '~'; });
  return kept;
}

std::string line_of(const std::vector<std::string_view>& fields) {
  std::string line;
  for (const std::string_view one : fields) line += (line.empty() ? "" : "\t") + field(one);
  return line + "\n";
}

std::optional<PackageAction> parse_action(std::string_view word) {
  for (const PackageAction action : {PackageAction::install, PackageAction::upgrade,
                                     PackageAction::downgrade, PackageAction::remove}) {
    if (word == to_string(action)) return action;
  }
  return std::nullopt;
}

void take_change(const std::vector<std::string_view>& fields, MachineHistory& history) {
  const auto manager = knowledge::parse_package_manager(fields[1]);
  const auto action = parse_action(fields[3]);
  const std::string time = parse_iso_moment(fields[2]);
  if (!manager || !action || time.empty() || fields[4].empty()) return;
  history.changes.push_back({time, std::string(fields[4]), std::string(fields[5]),
                             std::string(fields[6]), *action, *manager});
}

}  // namespace

std::string to_text(const MachineHistory& history) {
  std::string text = line_of({"now", history.now});
  for (const HistorySource& one : history.sources) {
    std::vector<std::string_view> fields = {"history", knowledge::to_string(one.manager), one.path,
                                            one.why_not};
    if (!one.since.empty()) fields.emplace_back(one.since);
    text += line_of(fields);
  }
  for (const PackageChange& one : history.changes) {
    text += line_of({"change", knowledge::to_string(one.manager), one.time, to_string(one.action),
                     one.package, one.from, one.to});
  }
  return text;
}

MachineHistory parse_machine_history(std::string_view text) {
  MachineHistory history;
  for (const std::string_view line : split_lines(text)) {
    const auto fields = split(line, '\t');
    if (fields[0] == "now" && fields.size() == 2) history.now = parse_iso_moment(fields[1]);
    if (fields[0] == "change" && fields.size() == 7) take_change(fields, history);
    if (fields[0] != "history" || (fields.size() != 4 && fields.size() != 5)) continue;
    if (const auto manager = knowledge::parse_package_manager(fields[1])) {
      const std::string since = fields.size() == 5 ? parse_iso_moment(fields[4]) : "";
      history.sources.push_back({*manager, std::string(fields[2]), std::string(fields[3]), since});
    }
  }
  return history;
}

}  // namespace headroom::facts
