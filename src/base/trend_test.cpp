// SPDX-License-Identifier: Apache-2.0
#include "base/trend.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

namespace headroom {
namespace {

std::vector<TrendPoint> make(int count, const std::function<double(double)>& value) {
  std::vector<TrendPoint> points;
  for (int i = 0; i < count; ++i) points.push_back({static_cast<double>(i), value(i)});
  return points;
}

TEST(Trend, single_outliers_do_not_move_the_slope) {
  auto points = make(31, [](double at) { return 10 + 2 * at; });
  points[3].value = 1e9;
  points[20].value = -1e9;
  EXPECT_NEAR(slope_of(points), 2, 0.05);
}

TEST(Trend, points_at_one_place_have_no_slope) {
  const std::vector<TrendPoint> points = {{1, 5}, {1, 9}, {1, 2}};
  EXPECT_EQ(slope_of(points), 0);
  EXPECT_FALSE(rises_throughout(points));
}

TEST(Trend, what_levels_off_does_not_reach_far) {
  const auto points = make(40, [](double at) { return 10 * (1 - std::exp(-at / 8)); });
  EXPECT_FALSE(slope_that_reaches(points, 5).has_value());
  const auto steady = make(40, [](double at) { return at; });
  EXPECT_NEAR(slope_that_reaches(steady, 1000).value_or(0), 1, 1e-9);
}

TEST(Trend, a_step_is_no_rise_throughout) {
  EXPECT_FALSE(rises_throughout(make(30, [](double at) { return at < 5 ? 1.0 : 9.0; })));
  EXPECT_TRUE(rises_throughout(make(30, [](double at) { return at; })));
  EXPECT_FALSE(rises_throughout(make(30, [](double at) { return -at; })));
}

}  // namespace
}  // namespace headroom
