// SPDX-License-Identifier: Apache-2.0
#include "report/replay_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "allocator/models/make_policy.h"
#include "base/bytes.h"
#include "base/document.h"
#include "base/text.h"
#include "report/replay_curve.h"
#include "report/style.h"

namespace headroom::report {
namespace {

template <class T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

std::string percent_above(std::uint64_t bytes, std::uint64_t base) {
  if (base == 0) return "";
  const double ratio = static_cast<double>(bytes) / static_cast<double>(base);
  constexpr double many = 10;  // A page for a few bytes: percents would be a long number.
  if (ratio >= many) return fmt::format("{:.0f} times", ratio);
  return fmt::format("{:+.1f} %", (ratio - 1) * 100);
}

std::string min_capacity(const TraceFacts& trace, const ReplayRow& row) {
  if (!row.min_capacity_wanted) return "";
  if (!row.min_capacity_bytes) return "none will do";
  return fmt::format("{} ({})", to_string(Bytes{*row.min_capacity_bytes}),
                     percent_above(*row.min_capacity_bytes, trace.peak_live_bytes));
}

// What was reserved, compared to a peak that a replay which failed early has not come to: nothing.
std::string over_live(const TraceFacts& trace, const ReplayRow& row) {
  const std::uint64_t reserved = row.result.usage.reserved_peak_bytes;
  if (!row.result.completed && reserved < trace.peak_live_bytes) return "-";
  return percent_above(reserved, trace.peak_live_bytes);
}

std::string outcome(const ReplayRow& row) {
  if (row.result.completed) return "completed";
  return fmt::format("out of memory at {}", *row.result.failed_at);
}

using Cells = std::vector<std::string>;

Cells cells_of(const TraceFacts& trace, const ReplayRow& row) {
  const allocator::Usage& usage = row.result.usage;
  return {row.policy,
          outcome(row),
          to_string(Bytes{usage.reserved_peak_bytes}),
          over_live(trace, row),
          fmt::format("{}", usage.device_calls),
          fmt::format("{:.0f}", row.ns_per_event),
          min_capacity(trace, row)};
}

// Words on the left, figures on the right; a column that nobody asked for is left out.
std::string lay_out(const std::vector<Cells>& cells, std::size_t width) {
  std::vector<Cells> shown(cells.size());
  std::vector<Align> columns;
  for (std::size_t i = 0; i < cells[0].size(); ++i) {
    const bool empty =
        std::all_of(cells.begin(), cells.end(), [i](const Cells& row) { return row[i].empty(); });
    if (empty) continue;
    columns.push_back(i < 2 ? Align::left : Align::right);
    for (std::size_t row = 0; row < cells.size(); ++row) shown[row].push_back(cells[row][i]);
  }
  std::string text;
  for (const TableLine& line : table(shown, columns, 2, width)) text += line.text + "\n";
  return text;
}

// Whether more memory was needed, or what was free was of no use.
std::string why_not(const ReplayRow& row) {
  const std::uint64_t live = row.result.usage.live_bytes;
  if (!row.capacity_bytes)
    return fmt::format("No --capacity was given, and a replay has {} at most.\n",
                       to_string(Bytes{allocator::unlimited_capacity_bytes}));
  if (*row.capacity_bytes < live) return "";
  const std::uint64_t rest = *row.capacity_bytes - live;
  if (row.result.failed_bytes > rest)
    return fmt::format("Only {} of the capacity was not in use.\n", to_string(Bytes{rest}));
  return fmt::format(
      "{} of the capacity was not in use, which would be enough. It was lost to fragmentation.\n",
      to_string(Bytes{rest}));
}

std::string what_failed_first(const TraceFacts& trace, const std::vector<ReplayRow>& rows) {
  std::string text;
  for (const ReplayRow& row : rows) {
    if (row.result.completed) continue;
    const allocator::Usage& usage = row.result.usage;
    text += fmt::format(
        "\n{} could not meet event {} of {}, a request of {}: {} were live and {} reserved.\n{}",
        row.policy, *row.result.failed_at, trace.events, to_string(Bytes{row.result.failed_bytes}),
        to_string(Bytes{usage.live_bytes}), to_string(Bytes{usage.reserved_bytes}), why_not(row));
  }
  return text;
}

constexpr std::size_t after_second = 0;  // Of the marks.
constexpr std::size_t after_fourth = 1;

// Nothing where the trace does not repeat, or the replay did not come so far.
std::optional<double> steady_calls(const TraceFacts& trace, const ReplayRow& row) {
  if (!row.result.completed || row.result.at_marks.size() <= after_second) return std::nullopt;
  const std::uint64_t events = trace.events - row.iteration_ends.front();
  const std::uint64_t calls =
      row.result.usage.device_calls - row.result.at_marks[after_second].device_calls;
  if (events == 0) return std::nullopt;
  return static_cast<double>(calls) * 1000 / static_cast<double>(events);
}

std::optional<std::uint64_t> steady_repairs(const ReplayRow& row) {
  if (!row.result.completed || row.result.at_marks.size() <= after_fourth) return std::nullopt;
  return row.result.usage.repairs - row.result.at_marks[after_fourth].repairs;
}

}  // namespace

std::string capacity_text(const ReplayRow& row, std::string_view unlimited) {
  if (row.capacity_bytes) return to_string(Bytes{*row.capacity_bytes});
  if (row.result.completed) return std::string(unlimited);
  return fmt::format("the {} that a replay has at most",
                     to_string(Bytes{allocator::unlimited_capacity_bytes}));
}

std::vector<std::uint64_t> steady_marks(const std::vector<std::uint64_t>& iteration_ends) {
  std::vector<std::uint64_t> marks;
  if (!iteration_ends.empty()) marks.push_back(iteration_ends.front());
  if (iteration_ends.size() > 2) marks.push_back(iteration_ends[2]);
  return marks;
}

Json to_json(const TraceFacts& trace, const ReplayRow& row) {
  Json missing = Json::object();
  if (!row.capacity_bytes)
    missing["/capacity_bytes"] = "no --capacity was given: " + capacity_text(row, "unlimited");
  if (!row.min_capacity_wanted) {
    missing["/min_capacity_bytes"] = "searched only with --min-capacity";
  } else if (!row.min_capacity_bytes) {
    missing["/min_capacity_bytes"] = "the trace does not finish at any capacity";
  }
  const auto calls = steady_calls(trace, row);
  const auto repairs = steady_repairs(row);
  const std::string_view why = "the trace has no iterations that repeat, or was not finished";
  if (!calls) missing["/steady_device_calls_per_1000"] = why;
  if (!repairs) missing["/steady_repairs"] = why;
  Json json = {{"schema", "headroom.replay/1"},
               {"policy", row.policy},
               {"capacity_bytes", or_null(row.capacity_bytes)},
               {"completed", row.result.completed},
               {"failed_at", or_null(row.result.failed_at)},
               {"events", trace.events},
               {"peak_live_bytes", trace.peak_live_bytes},
               {"peak_reserved_bytes", row.result.usage.reserved_peak_bytes},
               {"min_capacity_bytes", or_null(row.min_capacity_bytes)},
               {"device_calls", row.result.usage.device_calls},
               {"device_ms", static_cast<double>(row.result.usage.device_ns) / 1e6},
               {"repairs", row.result.usage.repairs},
               {"steady_device_calls_per_1000", or_null(calls)},
               {"steady_repairs", or_null(repairs)},
               {"ns_per_event", row.ns_per_event},
               {"missing", missing}};
  if (!row.call_curve.empty()) json["calls_per_event"] = to_json(row.call_curve);
  return json;
}

std::string to_text(const TraceFacts& trace, const std::vector<ReplayRow>& rows,
                    std::size_t width) {
  // Where one of them failed, what there was is no matter of course.
  const auto failed = std::find_if(rows.begin(), rows.end(),
                                   [](const ReplayRow& row) { return !row.result.completed; });
  const ReplayRow& telling = failed == rows.end() ? rows.front() : *failed;
  const std::string_view before = telling.capacity_bytes     ? "capacity "
                                  : telling.result.completed ? ""
                                                             : "in ";
  std::string text = fmt::format("{}: {} events, live peak {}, {}{}\n\n", trace.name, trace.events,
                                 to_string(Bytes{trace.peak_live_bytes}), before,
                                 capacity_text(telling, "unlimited capacity"));
  const bool searched = rows.front().min_capacity_wanted;
  std::vector<Cells> cells = {{"policy", "outcome", "reserved", "over live", "device calls",
                               "ns/event", searched ? "capacity needed" : ""}};
  for (const ReplayRow& row : rows) cells.push_back(cells_of(trace, row));
  text += lay_out(cells, width) + what_failed_first(trace, rows);
  if (trace.events == 0) text += "\nThere are no events in it, so nothing was replayed.\n";
  return fit(text, width);
}

std::string advice(const TraceFacts& trace, const std::vector<ReplayRow>& rows, std::size_t width) {
  const auto failed = std::find_if(rows.begin(), rows.end(),
                                   [](const ReplayRow& row) { return !row.result.completed; });
  if (failed == rows.end() || !failed->capacity_bytes) return "";
  if (*failed->capacity_bytes < trace.peak_live_bytes)
    return fit(fmt::format("\nNo allocator can finish it in {}: {} are live at once.\n"
                           "  next: {} shows which smaller batch, sequence or checkpointing fits\n",
                           to_string(Bytes{*failed->capacity_bytes}),
                           to_string(Bytes{trace.peak_live_bytes}),
                           keep_whole("headroom plan --spec JOB.toml")),
               width);
  std::vector<std::string> finishing;
  std::string policies;
  bool headroom_asked = false;
  for (const ReplayRow& row : rows) {
    if (row.result.completed) finishing.push_back(row.policy);
    headroom_asked = headroom_asked || row.policy == "headroom";
    policies += " --policy " + row.policy;
  }
  std::string text = finishing.empty() ? ""
                                       : fmt::format("\nIt finishes in the same {} with {}.\n",
                                                     to_string(Bytes{*failed->capacity_bytes}),
                                                     join(finishing, " and with "));
  if (failed->min_capacity_wanted) return fit(text, width);
  if (finishing.empty() && !headroom_asked) policies += " --policy headroom";
  text += finishing.empty() ? "\n" : "";
  const std::string command =
      fmt::format("headroom replay {}{} --min-capacity", trace.name, policies);
  return fit(text + fmt::format("  next: {} shows how much is enough\n", keep_whole(command)),
             width);
}

}  // namespace headroom::report
