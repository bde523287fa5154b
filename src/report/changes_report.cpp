// SPDX-License-Identifier: Apache-2.0
#include "report/changes_report.h"

#include <fmt/format.h>

#include <algorithm>

#include <nlohmann/json.hpp>

namespace headroom::report {
namespace {

using findings::RecentChange;
using findings::RecentChanges;
using Ordered = nlohmann::ordered_json;

constexpr std::size_t most_shown = 8;  // Two lines each.
constexpr std::size_t day_length = 10;
constexpr std::size_t kind_width = 11;

std::string heading(const RecentChanges& recent) {
  const std::string day = recent.moment.substr(0, day_length);
  switch (recent.until) {
    case RecentChanges::Until::first_failure:
      return fmt::format("Changed in the {} days before the first failure ({})",
                         RecentChanges::days, day);
    case RecentChanges::Until::newest_change:
      return fmt::format("Changed in the {} days up to the newest change ({})", RecentChanges::days,
                         day);
    case RecentChanges::Until::now:
      break;
  }
  return fmt::format("Changed in the last {} days", RecentChanges::days);
}

std::string word(knowledge::PackageKind kind) {
  return kind == knowledge::PackageKind::rocm ? "ROCm" : std::string(to_string(kind));
}

std::string change_text(const RecentChange& one, const Style& style) {
  const std::string kind = word(one.kind);
  const std::string first =
      fmt::format("  {}  {}{}", one.change.time.substr(0, day_length), kind,
                  std::string(kind_width - std::min(kind.size(), kind_width), ' '));
  std::string says = findings::describe(one.change);
  if (!one.others.empty()) {
    says += fmt::format(", and {} more {}", one.others.size(),
                        one.others.size() == 1 ? "package" : "packages");
  }
  std::string text = fold(printable(says), first, style.width);
  if (!one.back) return text;
  const std::string indent(first.size(), ' ');
  if (one.back->run.empty()) {
    return text + fold(printable("to go back: " + one.back->text), indent, style.width);
  }
  return text + indent + keep_whole("to go back: " + printable(one.back->run)) + "\n";
}

std::string unread_text(const RecentChanges& recent, const Style& style) {
  std::string text;
  for (const facts::HistorySource& one : recent.sources) {
    if (one.read()) continue;
    text +=
        fold(printable(fmt::format("{} ({})", one.path, one.why_not)), "  not read: ", style.width);
  }
  return text;
}

std::string late_text(const std::vector<findings::LateHistory>& late, const Style& style) {
  std::string text;
  for (const findings::LateHistory& one : late) {
    text += fold(fmt::format("the history of {} begins on {}", to_string(one.manager), one.day),
                 "  not known: ", style.width);
  }
  return text;
}

bool any_read(const RecentChanges& recent) {
  return std::any_of(recent.sources.begin(), recent.sources.end(),
                     [](const facts::HistorySource& one) { return one.read(); });
}

Ordered text_or_null(const std::string& text) {
  return text.empty() ? Ordered(nullptr) : Ordered(text);
}

Ordered change_json(const RecentChange& one) {
  Ordered others = Ordered::array();
  for (const facts::PackageChange& other : one.others) others.push_back(other.package);
  Ordered back = nullptr;
  if (one.back) {
    back = {{"says", one.back->text}, {"command", text_or_null(one.back->run)}};
  }
  return {{"time", one.change.time},
          {"kind", to_string(one.kind)},
          {"manager", to_string(one.change.manager)},
          {"action", to_string(one.change.action)},
          {"package", one.change.package},
          {"from", text_or_null(one.change.from)},
          {"to", text_or_null(one.change.to)},
          {"others", std::move(others)},
          {"go_back", std::move(back)}};
}

}  // namespace

std::string changes_text(const RecentChanges& recent, const Style& style) {
  const bool of_failure = recent.until == RecentChanges::Until::first_failure;
  if (recent.changes.empty() && (!of_failure || !any_read(recent))) return "";
  std::string text = "\n" + style.bold(heading(recent)) + "\n";
  const auto late =
      of_failure ? findings::late_histories(recent) : std::vector<findings::LateHistory>();
  if (recent.changes.empty()) {
    text += fmt::format("  nothing that a GPU job depends on{}\n",
                        late.empty() ? "" : ", as far as headroom knows");
  }
  const std::size_t shown = std::min(recent.changes.size(), most_shown);
  for (std::size_t i = 0; i < shown; ++i) text += change_text(recent.changes[i], style);
  if (recent.changes.size() > shown) {
    const std::size_t rest = recent.changes.size() - shown;
    text += fmt::format("  and {} older {}, listed by --json\n", rest,
                        rest == 1 ? "change" : "changes");
  }
  return text + late_text(late, style) + unread_text(recent, style);
}

Ordered changes_json(const RecentChanges& recent) {
  Ordered changes = Ordered::array();
  for (const RecentChange& one : recent.changes) changes.push_back(change_json(one));
  Ordered histories = Ordered::array();
  for (const facts::HistorySource& one : recent.sources) {
    histories.push_back({{"manager", to_string(one.manager)},
                         {"path", one.path},
                         {"read", one.read()},
                         {"since", text_or_null(one.since)},
                         {"why_not", text_or_null(one.why_not)}});
  }
  return {{"until", text_or_null(recent.moment)},
          {"until_what", to_string(recent.until)},
          {"days", RecentChanges::days},
          {"list", std::move(changes)},
          {"histories", std::move(histories)}};
}

}  // namespace headroom::report
