// SPDX-License-Identifier: Apache-2.0
#include "supervisor/growth.h"

#include <algorithm>
#include <cmath>
#include <limits>

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

// How far the values lie from the line of this slope, as the median of the distances.
template <class Samples>
double jitter_around(const Samples& samples, double slope) {
  std::vector<double> heights;
  for (const auto& sample : samples) heights.push_back(sample.used - slope * to_s(sample.when));
  const double height = median(heights);
  for (double& one : heights) one = std::abs(one - height);
  return median(std::move(heights));
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
  // Cheap first: most of the time memory does not grow at all.
  const double rise = samples.back().used - samples.front().used;
  if (rise < least_rise * limit) return std::nullopt;

  const std::size_t third = samples.size() / 3;
  const std::size_t half = samples.size() / 2;
  const auto middle_of = [&](std::size_t begin, std::size_t end) {
    std::vector<double> values;
    for (std::size_t i = begin; i < end; ++i) values.push_back(samples[i].used);
    return median(std::move(values));
  };
  const auto slope_of = [&](std::size_t begin, std::size_t end) {
    std::vector<double> slopes;
    for (std::size_t i = begin; i < end; ++i) {
      for (std::size_t j = i + 1; j < end; ++j) {
        const double passed = to_s(samples[j].when - samples[i].when);
        if (passed > 0) slopes.push_back((samples[j].used - samples[i].used) / passed);
      }
    }
    return slopes.empty() ? 0 : median(std::move(slopes));
  };

  const double slope = slope_of(0, samples.size());
  if (slope <= 0) return std::nullopt;
  if (slope * to_s(observed) < least_of_jitter * jitter_around(samples, slope)) return std::nullopt;
  const double steady = slope * to_s(observed) / 3 * least_of_steady;
  const double first = middle_of(0, third);
  const double second = middle_of(third, samples.size() - third);
  const double last = middle_of(samples.size() - third, samples.size());
  if (second - first < steady || last - second < steady) return std::nullopt;
  if (highest_before(samples.front().when) > last) return std::nullopt;

  const double early = slope_of(0, half);
  const double late = slope_of(half, samples.size());
  if (late <= 0) return std::nullopt;
  const double left = std::max(0.0, limit - samples.back().used);
  const double ratio = early > 0 ? late / early : 1;
  if (ratio < 1) {
    const double still_to_come = late * to_s(observed) / 2 * ratio / (1 - ratio);
    if (still_to_come < left) return std::nullopt;
  }
  const double seconds = left / late;
  if (seconds > foreseeable * to_s(observed)) return std::nullopt;
  const Time reaches = samples.back().when + Time{static_cast<Time::rep>(seconds * 1000)};
  return Growth{late, std::max(now, reaches), observed};
}

std::optional<Growth> GrowthWatch::growth(Time now) const {
  // The longest time that shows it says best how fast it is.
  for (std::size_t i = levels_.size(); i-- > 0;) {
    if (const auto found = judge(levels_[i], now)) return found;
  }
  return std::nullopt;
}

}  // namespace headroom::supervisor
