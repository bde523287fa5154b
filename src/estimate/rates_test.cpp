// SPDX-License-Identifier: Apache-2.0
#include "estimate/rates.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace headroom::estimate {
namespace {

Grid grid(Grid::Axes axes, std::vector<double> seconds) {
  auto made = Grid::make(std::move(axes), std::move(seconds));
  EXPECT_TRUE(made);
  return *std::move(made);
}

TEST(Grid, what_was_measured_is_what_it_says) {
  const Grid times = grid({{8, 64}, {16, 256}}, {1, 3, 4, 20});
  EXPECT_DOUBLE_EQ(times.seconds({8, 16, 1}), 1);
  EXPECT_DOUBLE_EQ(times.seconds({8, 256, 1}), 3);
  EXPECT_DOUBLE_EQ(times.seconds({64, 16, 1}), 4);
  EXPECT_NEAR(times.seconds({64, 256, 1}), 20, 1e-12);
}

TEST(Grid, between_two_sizes_it_is_a_power_law) {
  const Grid times = grid({{10, 1000}}, {1, 100});
  EXPECT_NEAR(times.seconds({100, 1, 1}), 10, 1e-9);
  const Grid slower = grid({{10, 1000}}, {1, 10});
  EXPECT_NEAR(slower.seconds({100, 1, 1}), std::sqrt(10), 1e-9);
}

TEST(Grid, beyond_the_largest_it_grows_with_the_size_and_below_the_smallest_it_stays) {
  const Grid times = grid({{8, 64}, {16, 256}}, {1, 3, 4, 20});
  EXPECT_NEAR(times.seconds({6400, 256, 1}), 2000, 1e-9);
  EXPECT_NEAR(times.seconds({640, 2560, 1}), 2000, 1e-9);
  EXPECT_DOUBLE_EQ(times.seconds({1, 1, 1}), 1);
}

TEST(Grid, a_larger_size_that_was_measured_faster_was_noise) {
  const Grid times = grid({{1, 2, 4}}, {3, 2, 5});
  EXPECT_DOUBLE_EQ(times.seconds({2, 1, 1}), 3);
  const Grid flat = grid({{1, 2}, {1, 2}}, {4, 1, 1, 1});
  EXPECT_DOUBLE_EQ(flat.seconds({2, 2, 1}), 4);
}

TEST(Grid, what_is_no_grid_of_times_is_refused) {
  const double not_a_number = std::numeric_limits<double>::quiet_NaN();
  EXPECT_FALSE(Grid::make({}, {}));
  EXPECT_FALSE(Grid::make({{}}, {}));
  EXPECT_FALSE(Grid::make({{1}, {1}, {1}, {1}}, {1}));
  EXPECT_FALSE(Grid::make({{1, 1}}, {1, 1}));
  EXPECT_FALSE(Grid::make({{2, 1}}, {1, 1}));
  EXPECT_FALSE(Grid::make({{0, 1}}, {1, 1}));
  EXPECT_FALSE(Grid::make({{1, 2}}, {1}));
  EXPECT_FALSE(Grid::make({{1, 2}}, {1, 2, 3}));
  for (const double wrong : {0.0, -1.0, not_a_number, std::numeric_limits<double>::infinity(), 1e9})
    EXPECT_FALSE(Grid::make({{1, 2}}, {1, wrong}));
  const std::vector<std::uint64_t> axis = {1,  2,  3,  4,  5,  6,  7,  8, 9,
                                           10, 11, 12, 13, 14, 15, 16, 17};
  EXPECT_FALSE(Grid::make({axis, axis, axis}, std::vector<double>(17UL * 17 * 17, 1)));
}

TEST(Rates, work_is_the_sum_of_its_calls) {
  OperationTimes rates;
  rates.emplace(std::pair{Operation::add, DType::fp32}, grid({{1, 100}}, {1, 100}));
  Work work;
  work.add({Operation::add, DType::fp32, {10, 1, 1}}, 2);
  work.add({Operation::add, DType::fp32, {10, 1, 1}}, 0.5);
  work.add({Operation::add, DType::fp32, {100, 1, 1}});
  EXPECT_NEAR(*seconds_of(work, rates), 125, 1e-9);
}

TEST(Rates, what_was_not_measured_is_named) {
  Work work;
  work.add({Operation::adafactor, DType::bf16, {10, 1, 1}});
  const auto seconds = seconds_of(work, {});
  ASSERT_FALSE(seconds);
  EXPECT_EQ(seconds.error().message, "adafactor in bf16 is not measured by a calibration");
}

}  // namespace
}  // namespace headroom::estimate
