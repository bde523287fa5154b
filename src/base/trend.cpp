// SPDX-License-Identifier: Apache-2.0
#include "base/trend.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

namespace headroom {
namespace {

constexpr double least_of_jitter = 4;  // Times how far the values lie from their line.
constexpr double least_of_steady =
    0.4;  // What a third rises, of what it would if it rose steadily.

}  // namespace

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

double middle_of(TrendPoints points) {
  std::vector<double> values;
  for (const TrendPoint& point : points) values.push_back(point.value);
  return median(std::move(values));
}

double slope_of(TrendPoints points) {
  std::vector<double> slopes;
  slopes.reserve(points.size() * points.size() / 2);
  for (std::size_t i = 0; i < points.size(); ++i) {
    for (std::size_t j = i + 1; j < points.size(); ++j) {
      const double passed = points[j].at - points[i].at;
      if (passed > 0) slopes.push_back((points[j].value - points[i].value) / passed);
    }
  }
  return slopes.empty() ? 0 : median(std::move(slopes));
}

double jitter_around(TrendPoints points, double slope) {
  std::vector<double> heights;
  for (const TrendPoint& point : points) heights.push_back(point.value - slope * point.at);
  const double height = median(heights);
  for (double& one : heights) one = std::abs(one - height);
  return median(std::move(heights));
}

bool rises_throughout(TrendPoints points) {
  const double slope = slope_of(points);
  const double rise = slope * (points.back().at - points.front().at);
  if (slope <= 0 || rise < least_of_jitter * jitter_around(points, slope)) return false;
  const std::size_t third = points.size() / 3;
  const double first = middle_of(points.first(third));
  const double second = middle_of(points.subspan(third, points.size() - 2 * third));
  const double last = middle_of(points.last(third));
  const double steady = rise / 3 * least_of_steady;
  return second - first >= steady && last - second >= steady;
}

std::optional<double> slope_that_reaches(TrendPoints points, double left) {
  const std::size_t half = points.size() / 2;
  const double early = slope_of(points.first(half));
  const double late = slope_of(points.subspan(half));
  if (late <= 0) return std::nullopt;
  const double ratio = early > 0 ? late / early : 1;
  if (ratio >= 1) return late;
  const double half_way = (points.back().at - points.front().at) / 2;
  const double still_to_come = late * half_way * ratio / (1 - ratio);
  return still_to_come < left ? std::nullopt : std::optional(late);
}

}  // namespace headroom
