// SPDX-License-Identifier: Apache-2.0
// Whether values rise, by statistics that single outliers do not move: what a watch over a running
// process and a reader of its log ask alike.
#pragma once

#include <optional>
#include <span>
#include <vector>

namespace headroom {

struct TrendPoint {
  double at = 0;  // A time, or a number of steps; never falls from point to point.
  double value = 0;
};
using TrendPoints = std::span<const TrendPoint>;

// Requires: at least one value. Of an even number it is the upper of the two in the middle.
double median(std::vector<double> values);
// Of the values. Requires: at least one point.
double middle_of(TrendPoints points);
// The median of the slopes of all pairs (Theil 1950, Sen 1968); 0 for less than two points. Takes
// time by the square of their number.
double slope_of(TrendPoints points);
// How far the values lie from the line of this slope, as the median of the distances.
double jitter_around(TrendPoints points, double slope);
// Whether the values rise beyond their jitter, and each third stands above the one before it by a
// good part of what a steady rise would make it. Requires: at least three points.
bool rises_throughout(TrendPoints points);
// How fast the values rise now, if they get as far as `left` further: if the second half rises more
// slowly than the first, by the ratio r, every further one is taken to rise more slowly by r again.
// Nothing if they level off before.
std::optional<double> slope_that_reaches(TrendPoints points, double left);

}  // namespace headroom
