// SPDX-License-Identifier: Apache-2.0
#include "logs/memory_series.h"

#include <algorithm>

namespace headroom::logs {
namespace {

constexpr std::size_t longest_line = 300;
constexpr std::string_view unit_of_readings = "reading";
// A new run begins with much less than the one before it ended with.
constexpr double left_after_restart = 0.8;

// Halves the points: of each two the higher one stays.
void halve(std::vector<MemoryPoint>& points) {
  std::size_t kept = 0;
  for (std::size_t i = 0; i + 1 < points.size(); i += 2) {
    points[kept++] = points[i + 1].bytes >= points[i].bytes ? points[i + 1] : points[i];
  }
  points.resize(kept);
}

}  // namespace

void MemoryLog::add(const Place& place, std::string_view row) {
  const MemoryLine line = find_memory_figures(row);
  for (const MemoryFigure& figure : line.figures) take(place, row, line, figure);
}

std::optional<std::size_t> MemoryLog::begin(const Place& place, const MemoryLine& line,
                                            const MemoryFigure& figure, const std::string& key) {
  if (series_.size() >= most_series) return std::nullopt;
  MemorySeries series;
  series.kind = figure.kind;
  series.is_peak = figure.is_peak;
  series.label = figure.label;
  series.device = figure.device;
  series.origin = place.origin;
  series.unit = line.step ? line.step->unit : unit_of_readings;
  series.log = place.log;
  series.log_name = place.log_name;
  series_.push_back(std::move(series));
  states_.emplace_back();
  places_[key] = series_.size() - 1;
  return series_.size() - 1;
}

void MemoryLog::take(const Place& place, std::string_view row, const MemoryLine& line,
                     const MemoryFigure& figure) {
  const std::string key = std::to_string(place.log) + '\n' + std::string(place.origin) + '\n' +
                          figure.device + '\n' + figure.label + '\n' +
                          std::string(line.step ? line.step->unit : unit_of_readings);
  const auto known = places_.find(key);
  auto index =
      known != places_.end() ? std::optional(known->second) : begin(place, line, figure, key);
  if (!index) return;
  const double bytes = static_cast<double>(figure.amount.value);
  double at = static_cast<double>(series_[*index].count);
  if (line.step) {
    const State& before = states_[*index];
    at = static_cast<double>(line.step->number);
    if (at < before.last_step) {
      const double offset = before.offset + before.last_step + 1;
      if (bytes < before.last_bytes * left_after_restart) {
        index = begin(place, line, figure, key);
        if (!index) return;
      } else {
        states_[*index].offset = offset;
      }
    }
    states_[*index].last_step = at;
    at += states_[*index].offset;
  }
  MemorySeries& series = series_[*index];
  states_[*index].last_bytes = bytes;
  SeriesLine& seen = series.count == 0 ? series.first : series.last;
  seen.line = place.line;
  seen.text.assign(row.substr(0, longest_line));
  ++series.count;
  if (figure.capacity) series.capacity = figure.capacity;
  add_point(series, states_[*index], {at, bytes, place.line});
}

void MemoryLog::add_point(MemorySeries& series, State& state, const MemoryPoint& point) {
  std::vector<MemoryPoint>& points = series.points;
  const bool is_same_step = !points.empty() && points.back().at >= point.at;
  if (is_same_step || (state.in_stride > 0 && !points.empty())) {
    // A point keeps its step, so that the steps rise; it stands for the highest of its figures.
    MemoryPoint& open = points.back();
    if (point.bytes > open.bytes) {
      open.bytes = point.bytes;
      open.line = point.line;
      open.at = std::max(open.at, point.at);
    }
    if (!is_same_step) state.in_stride = (state.in_stride + 1) % state.stride;
    return;
  }
  if (points.size() >= MemorySeries::most_points) {
    halve(points);
    state.stride *= 2;
  }
  points.push_back(point);
  state.in_stride = state.stride > 1 ? 1 : 0;
}

}  // namespace headroom::logs
