// SPDX-License-Identifier: Apache-2.0
#include "report/replay_curve.h"

#include <fmt/format.h>

#include "base/bytes.h"
#include "base/document.h"
#include "base/require.h"
#include "report/style.h"

namespace headroom::report {
namespace {

constexpr double per = 1000;  // Events that calls are counted for.

double calls_of(const allocator::CallPoint& point) {
  if (point.events == 0) return 0;
  return static_cast<double>(point.device_calls) * per / static_cast<double>(point.events);
}

// The whole run, and what it comes to once it repeats.
std::string calls_text(const allocator::CallPoint& point) {
  if (!point.completed) return "out of memory";
  if (!point.steady_calls_per_event) return fmt::format("{:.1f}", calls_of(point));
  return fmt::format("{:.1f}, then {:.1f}", calls_of(point), *point.steady_calls_per_event * per);
}

}  // namespace

std::string call_curves(const TraceFacts& trace, const std::vector<ReplayRow>& rows,
                        std::size_t width) {
  if (rows.empty() || rows.front().call_curve.empty()) return "";
  const std::size_t points = rows.front().call_curve.size();
  bool repeats = false;
  std::vector<std::vector<std::string>> cells = {{"capacity", "over live"}};
  for (const ReplayRow& row : rows) {
    require(row.call_curve.size() == points, "all curves have the same capacities");
    cells.front().push_back(row.policy);
    for (const auto& point : row.call_curve) repeats = repeats || point.steady_calls_per_event;
  }
  for (std::size_t i = 0; i < points; ++i) {
    const std::uint64_t capacity = rows.front().call_curve[i].capacity_bytes;
    const double ratio = static_cast<double>(capacity) / static_cast<double>(trace.peak_live_bytes);
    cells.push_back({to_string(Bytes{capacity}), fmt::format("{:+.1f} %", (ratio - 1) * 100)});
    for (const ReplayRow& row : rows) cells.back().push_back(calls_text(row.call_curve[i]));
  }
  std::string text = "\nDevice calls per 1,000 events, by capacity";
  text += repeats ? ": of the whole run, then after the second iteration.\n\n" : ".\n\n";
  const std::vector<Align> columns(cells.front().size(), Align::right);
  for (const TableLine& line : table(cells, columns, 2, width)) text += line.text + "\n";
  return fit(text, width);
}

Json to_json(const std::vector<allocator::CallPoint>& curve) {
  Json points = Json::array();
  for (const allocator::CallPoint& point : curve) {
    Json json = {{"capacity_bytes", point.capacity_bytes}, {"completed", point.completed}};
    if (point.completed) {
      json["device_calls_per_1000"] = calls_of(point);
      json["device_ms"] = static_cast<double>(point.device_ns) / 1e6;
      if (point.steady_calls_per_event)
        json["steady_device_calls_per_1000"] = *point.steady_calls_per_event * per;
    }
    points.push_back(std::move(json));
  }
  return points;
}

}  // namespace headroom::report
