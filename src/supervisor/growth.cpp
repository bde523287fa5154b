// SPDX-License-Identifier: Apache-2.0
#include "supervisor/growth.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "base/require.h"

namespace headroom::supervisor {
namespace {

constexpr std::size_t kept = 32;    // Samples of a level.
constexpr std::size_t needed = 24;  // To judge a level: three thirds of eight.
constexpr std::size_t most_levels = 24;
constexpr double foreseeable = 3;      // Times the time observed.
constexpr double least_rise = 0.01;    // Of the limit, within the time observed.
constexpr double least_of_jitter = 4;  // Times how far the values lie from their line.
constexpr double least_of_steady =
    0.4;  // What a third rises, of what it would if it rose steadily.

double to_s(Time time) {
  return static_cast<double>(time.count()) / 1000;
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

struct Point {
  double s = 0, used = 0;
};
using Points = std::vector<Point>;
using Part = std::span<const Point>;

double middle_of(Part points) {
  std::vector<double> values;
  for (const Point& point : points) values.push_back(point.used);
  return median(std::move(values));
}

// By Theil and Sen.
double slope_of(Part points) {
  std::vector<double> slopes;
  slopes.reserve(points.size() * points.size() / 2);
  for (std::size_t i = 0; i < points.size(); ++i) {
    for (std::size_t j = i + 1; j < points.size(); ++j) {
      const double passed = points[j].s - points[i].s;
      if (passed > 0) slopes.push_back((points[j].used - points[i].used) / passed);
    }
  }
  return slopes.empty() ? 0 : median(std::move(slopes));
}

// How far the values lie from the line of this slope, as the median of the distances.
double jitter_around(Part points, double slope) {
  std::vector<double> heights;
  for (const Point& point : points) heights.push_back(point.used - slope * point.s);
  const double height = median(heights);
  for (double& one : heights) one = std::abs(one - height);
  return median(std::move(heights));
}

// Each third above the one before, by a good part of what a steady rise would make it.
bool rises_throughout(Part points) {
  const double slope = slope_of(points);
  const double rise = slope * (points.back().s - points.front().s);
  if (slope <= 0 || rise < least_of_jitter * jitter_around(points, slope)) return false;
  const std::size_t third = points.size() / 3;
  const double first = middle_of(points.first(third));
  const double second = middle_of(points.subspan(third, points.size() - 2 * third));
  const double last = middle_of(points.last(third));
  const double steady = rise / 3 * least_of_steady;
  return second - first >= steady && last - second >= steady;
}

// How fast it rises now, where it gets as far as `left` further; nothing if it levels off before.
std::optional<double> slope_that_reaches(Part points, double left) {
  const std::size_t half = points.size() / 2;
  const double early = slope_of(points.first(half));
  const double late = slope_of(points.subspan(half));
  if (late <= 0) return std::nullopt;
  const double ratio = early > 0 ? late / early : 1;
  if (ratio >= 1) return late;
  const double half_s = (points.back().s - points.front().s) / 2;
  const double still_to_come = late * half_s * ratio / (1 - ratio);
  return still_to_come < left ? std::nullopt : std::optional(late);
}

}  // namespace

GrowthWatch::GrowthWatch(Bytes limit, Time shortest) : limit_(limit), shortest_(shortest) {
  require(shortest >= Time{static_cast<Time::rep>(needed)}, "growth is judged over 24 ms or more");
  levels_.push_back({.width = shortest / static_cast<Time::rep>(needed)});
}

void GrowthWatch::add(Bytes used, Time now) {
  add(0, {now, static_cast<double>(used.value)});
}

void GrowthWatch::add(std::size_t level, const Sample& sample) {
  // Each level takes the spans that the finer one has finished, so that a sample costs two steps
  // on average, however many levels there are.
  Level& into = levels_[level];
  if (into.open && sample.when - into.opened < into.width) {
    if (sample.used >= into.open->used) into.open = sample;
    return;
  }
  const std::optional<Sample> finished = into.open;
  into.open = sample;
  into.opened = sample.when;
  if (!finished) return;
  into.samples.push_back(*finished);
  if (into.samples.size() > kept) {
    if (level + 1 == most_levels) {
      highest_forgotten_ = std::max(highest_forgotten_, into.samples.front().used);
    }
    into.samples.pop_front();
  }
  if (level + 1 == most_levels) return;
  if (level + 1 == levels_.size()) levels_.push_back({.width = levels_[level].width * 2});
  add(level + 1, *finished);
}

double GrowthWatch::highest_before(Time when) const {
  double highest = highest_forgotten_;
  for (const Level& level : levels_) {
    for (const Sample& sample : level.samples) {
      if (sample.when < when) highest = std::max(highest, sample.used);
    }
  }
  return highest;
}

std::optional<Growth> GrowthWatch::judge(const Level& level, Time now) const {
  const std::deque<Sample>& samples = level.samples;
  if (samples.size() < needed) return std::nullopt;
  const Time observed = samples.back().when - samples.front().when;
  if (observed < shortest_ * 9 / 10) return std::nullopt;
  const auto limit = static_cast<double>(limit_.value);
  const double left = std::max(0.0, limit - samples.back().used);
  // Cheap first: most of the time memory hardly grows.
  const double rise = samples.back().used - samples.front().used;
  if (rise < least_rise * limit || rise * foreseeable * 2 < left) return std::nullopt;
  Points points;
  for (const Sample& sample : samples) points.push_back({to_s(sample.when), sample.used});
  const double last = middle_of(Part(points).last(points.size() / 3));
  if (highest_before(samples.front().when) > last) return std::nullopt;
  if (!rises_throughout(points)) return std::nullopt;
  const auto slope = slope_that_reaches(points, left);
  if (!slope || left / *slope > foreseeable * to_s(observed)) return std::nullopt;
  const Time reaches = samples.back().when + Time{static_cast<Time::rep>(left / *slope * 1000)};
  return Growth{*slope, std::max(now, reaches), observed};
}

std::optional<Growth> GrowthWatch::growth(Time now) const {
  // The longest time that shows it says best how fast it is.
  for (std::size_t i = levels_.size(); i-- > 0;) {
    if (const auto found = judge(levels_[i], now)) return found;
  }
  return std::nullopt;
}

}  // namespace headroom::supervisor
