// SPDX-License-Identifier: Apache-2.0
#include "supervisor/growth.h"

#include <algorithm>
#include <vector>

#include "base/require.h"
#include "base/trend.h"

namespace headroom::supervisor {
namespace {

constexpr std::size_t kept = 32;    // Samples of a level.
constexpr std::size_t needed = 24;  // To judge a level: three thirds of eight.
constexpr std::size_t most_levels = 24;
constexpr double foreseeable = 3;    // Times the time observed.
constexpr double least_rise = 0.01;  // Of the limit, within the time observed.

double to_s(Time time) {
  return static_cast<double>(time.count()) / 1000;
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
  std::vector<TrendPoint> points;
  for (const Sample& sample : samples) points.push_back({to_s(sample.when), sample.used});
  const double last = middle_of(TrendPoints(points).last(points.size() / 3));
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
