// SPDX-License-Identifier: Apache-2.0
#include "findings/memory_growth.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>
#include <vector>

#include "base/trend.h"
#include "logs/decode.h"

namespace headroom::findings {
namespace {

using logs::MemoryKind;
using logs::MemorySeries;

constexpr std::size_t least_points = 6;
// In a series of this length the first two figures are left out: the optimizer's states and the
// libraries' workspaces come with the first step.
constexpr std::size_t least_with_warm_up = 12;
constexpr std::size_t warm_up = 2;
constexpr double least_rise = 0.01;  // Of the highest value.
constexpr double is_level_within = 0.02;
constexpr double levels_off_below = 0.25;  // The second half's slope, as a part of the first's.
constexpr double foreseeable = 10;         // Times what was observed.
// A cache that grows this much faster than what lives in it is not filled by that alone.
constexpr double faster_than_live = 3;

enum class Shape { level, levels_off, grows, varies };

struct Judged {
  const MemorySeries* series = nullptr;
  Shape shape = Shape::varies;
  double slope = 0;
  double highest = 0;
  std::vector<TrendPoint> points;
};

bool rises(TrendPoints points, double highest) {
  const double rise = slope_of(points) * (points.back().at - points.front().at);
  if (rise < least_rise * highest || !rises_throughout(points)) return false;
  // The floor rises as well, else it is a sawtooth that happens to end high.
  const std::size_t third = points.size() / 3;
  const auto last = points.last(third);
  const auto lowest = std::min_element(
      last.begin(), last.end(), [](const auto& a, const auto& b) { return a.value < b.value; });
  return lowest->value > middle_of(points.first(third));
}

Shape shape_of(TrendPoints points, double highest) {
  const std::size_t third = points.size() / 3;
  const std::size_t half = points.size() / 2;
  const double early = slope_of(points.first(half));
  const double late = slope_of(points.subspan(half));
  if (rises(points, highest) && late >= early * levels_off_below) return Shape::grows;
  const double level = highest * (1 - is_level_within);
  const bool ends_level = middle_of(points.last(third)) >= level;
  if (ends_level && middle_of(points.first(third)) >= level) return Shape::level;
  const bool second_half_is_level = middle_of(points.subspan(half)) >= level;
  const bool rose = middle_of(points.first(third)) < middle_of(points.last(third));
  return rose && ends_level && second_half_is_level ? Shape::levels_off : Shape::varies;
}

std::optional<Judged> judge(const MemorySeries& series) {
  if (series.points.size() < least_points) return std::nullopt;
  Judged judged;
  judged.series = &series;
  const std::size_t skipped = series.points.size() >= least_with_warm_up ? warm_up : 0;
  for (std::size_t i = skipped; i < series.points.size(); ++i) {
    judged.points.push_back({series.points[i].at, series.points[i].bytes});
    judged.highest = std::max(judged.highest, series.points[i].bytes);
  }
  if (judged.points.back().at <= judged.points.front().at) return std::nullopt;
  judged.slope = slope_of(judged.points);
  judged.shape = shape_of(judged.points, judged.highest);
  return judged;
}

bool is_same_source(const MemorySeries& one, const MemorySeries& other) {
  return one.kind == other.kind && one.label == other.label && one.device == other.device &&
         one.origin == other.origin && one.unit == other.unit;
}

// The last run of each source that is long enough to be judged.
std::vector<Judged> judge_all(const logs::MemoryLog& log) {
  std::vector<Judged> all;
  for (const MemorySeries& series : log.all()) {
    auto judged = judge(series);
    if (!judged) continue;
    std::erase_if(all, [&](const Judged& one) { return is_same_source(*one.series, series); });
    all.push_back(*std::move(judged));
  }
  return all;
}

// Of a kind: the one that grows fastest, else the longest; what it is now goes before a high-water
// mark, which also rises if sizes vary.
const Judged* most_telling(const std::vector<Judged>& all, MemoryKind kind) {
  const auto key = [](const Judged& one) {
    const bool grows = one.shape == Shape::grows;
    return std::tuple(grows, !one.series->is_peak, grows ? one.slope : 0.0, one.series->count);
  };
  const Judged* best = nullptr;
  for (const Judged& one : all) {
    if (one.series->kind != kind) continue;
    if (best == nullptr || key(one) > key(*best)) best = &one;
  }
  return best;
}

double sureness(const Judged& judged) {
  const std::uint64_t count = judged.series->count;
  const double sure = count >= 40 ? 0.85 : count >= 16 ? 0.8 : count >= 9 ? 0.7 : 0.55;
  return judged.series->is_peak && judged.shape == Shape::grows ? sure * 0.9 : sure;
}

Evidence show_line(const MemorySeries& series, const logs::SeriesLine& line) {
  constexpr std::size_t longest = 600;
  return {series.log_name, static_cast<int>(line.line), logs::to_shown(line.text, longest),
          "memory in use"};
}

MemoryGrowth report(GrowthKind kind, const Judged& judged, const MemorySizes& sizes) {
  const MemorySeries& series = *judged.series;
  MemoryGrowth growth;
  growth.kind = kind;
  growth.sure = sureness(judged);
  growth.memory = series.kind;
  growth.label = series.label;
  growth.device = series.device;
  growth.unit = series.unit;
  growth.from = judged.points.front().at;
  growth.to = judged.points.back().at;
  growth.count = series.count;
  growth.log = series.log;
  growth.first = {static_cast<std::uint64_t>(judged.points.front().value)};
  growth.last = {static_cast<std::uint64_t>(judged.points.back().value)};
  growth.highest = {static_cast<std::uint64_t>(judged.highest)};
  growth.first_line = show_line(series, series.first);
  growth.last_line = show_line(series, series.last);
  growth.capacity = series.capacity                   ? series.capacity
                    : series.kind == MemoryKind::host ? sizes.host
                                                      : sizes.card;
  if (!growth.is_growing()) return growth;
  growth.bytes_per_step = judged.slope;
  if (!growth.capacity || *growth.capacity <= growth.last) return growth;
  const auto left = static_cast<double>((*growth.capacity - growth.last).value);
  const auto slope = slope_that_reaches(judged.points, left);
  if (slope && left / *slope <= foreseeable * (growth.to - growth.from)) {
    growth.reaches_at = growth.to + left / *slope;
  }
  return growth;
}

bool grows(const Judged* one) {
  return one != nullptr && one->shape == Shape::grows;
}

GrowthKind kind_of(Shape shape) {
  return shape == Shape::level        ? GrowthKind::level
         : shape == Shape::levels_off ? GrowthKind::levels_off
                                      : GrowthKind::varies;
}

std::string_view name_of(MemoryKind kind) {
  switch (kind) {
    case MemoryKind::allocated:
      return "Allocated memory";
    case MemoryKind::reserved:
      return "The allocator's reserved memory";
    case MemoryKind::device:
      return "GPU memory in use";
    case MemoryKind::host:
      return "Host memory in use";
  }
  return "";
}

}  // namespace

std::string_view to_string(GrowthKind kind) {
  switch (kind) {
    case GrowthKind::level:
      return "level";
    case GrowthKind::levels_off:
      return "levels-off";
    case GrowthKind::growing_live:
      return "growing-live";
    case GrowthKind::growing_reserved:
      return "growing-reserved";
    case GrowthKind::growing:
      return "growing";
    case GrowthKind::growing_host:
      return "growing-host";
    case GrowthKind::varies:
      return "varies";
  }
  return "";
}

bool MemoryGrowth::is_growing() const {
  return kind == GrowthKind::growing_live || kind == GrowthKind::growing_reserved ||
         kind == GrowthKind::growing || kind == GrowthKind::growing_host;
}

std::optional<MemoryGrowth> find_memory_growth(const logs::MemoryLog& log,
                                               const MemorySizes& sizes) {
  const std::vector<Judged> all = judge_all(log);
  const Judged* live = most_telling(all, MemoryKind::allocated);
  const Judged* reserved = most_telling(all, MemoryKind::reserved);
  const Judged* device = most_telling(all, MemoryKind::device);
  const Judged* host = most_telling(all, MemoryKind::host);
  const bool cache_outgrows =
      grows(live) && grows(reserved) && reserved->slope > live->slope * faster_than_live;
  if (grows(live) && !cache_outgrows) return report(GrowthKind::growing_live, *live, sizes);
  const Judged* taken = grows(reserved) ? reserved : device;
  if (grows(taken)) {
    const auto kind = live != nullptr ? GrowthKind::growing_reserved : GrowthKind::growing;
    return report(kind, *taken, sizes);
  }
  if (grows(host)) return report(GrowthKind::growing_host, *host, sizes);
  for (const Judged* one : {live, reserved, device, host}) {
    if (one != nullptr) return report(kind_of(one->shape), *one, sizes);
  }
  return std::nullopt;
}

std::string describe(const MemoryGrowth& growth) {
  std::string text(name_of(growth.memory));
  if (!growth.device.empty()) text += " of " + growth.device;
  const std::string range =
      fmt::format("from {} {:.0f} to {:.0f}", growth.unit, growth.from, growth.to);
  const std::string amounts =
      fmt::format("({} to {})", to_string(growth.first), to_string(growth.last));
  switch (growth.kind) {
    case GrowthKind::level:
      return text + fmt::format(" was level at {} {}.", to_string(growth.highest), range);
    case GrowthKind::levels_off:
      return text + fmt::format(" grew at first and then stopped growing, {} {}.", range, amounts);
    case GrowthKind::varies:
      return text +
             fmt::format(" went up and down below {}, {}.", to_string(growth.highest), range);
    default:
      break;
  }
  const Bytes step{static_cast<std::uint64_t>(std::max(0.0, growth.bytes_per_step))};
  text += fmt::format(" grew by {} per {} {} {}", to_string(step), growth.unit, range, amounts);
  if (growth.reaches_at) {
    text += fmt::format("; at this rate it reaches {} at about {} {:.0f}",
                        to_string(*growth.capacity), growth.unit, std::round(*growth.reaches_at));
  }
  return text + ".";
}

}  // namespace headroom::findings
