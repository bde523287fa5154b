// SPDX-License-Identifier: Apache-2.0
// Expected values: the lambdas of transformers 5.23's optimization.py, at every step of a run.
#include "trainer/schedule.h"

#include <gtest/gtest.h>

#include <vector>

namespace headroom::trainer {
namespace {

using estimate::ScheduleKind;

void expect_factors(const ScheduleSettings& settings, std::uint64_t steps,
                    const std::vector<double>& expected) {
  const Schedule schedule(settings, steps);
  for (std::size_t step = 0; step < expected.size(); ++step)
    EXPECT_NEAR(schedule.factor(step), expected[step], 1e-15) << "step " << step;
}

TEST(Schedule, a_constant_one_stays_with_and_without_warmup) {
  expect_factors({}, 5, {1, 1, 1, 1, 1});
  expect_factors({.kind = ScheduleKind::constant_with_warmup, .warmup_steps = 3}, 6,
                 {0, 1 / 3., 2 / 3., 1, 1, 1});
}

TEST(Schedule, a_linear_one_falls_to_nothing_at_the_end) {
  expect_factors(
      {.kind = ScheduleKind::linear, .warmup_steps = 3}, 10,
      {0, 0.3333333333333333, 0.6666666666666666, 1.0, 0.8571428571428571, 0.7142857142857143,
       0.5714285714285714, 0.42857142857142855, 0.2857142857142857, 0.14285714285714285, 0});
  expect_factors({.kind = ScheduleKind::linear}, 4, {1, 0.75, 0.5, 0.25, 0});
}

TEST(Schedule, a_cosine_falls_slowly_at_both_ends) {
  expect_factors(
      {.kind = ScheduleKind::cosine, .warmup_steps = 3}, 10,
      {0, 0.3333333333333333, 0.6666666666666666, 1.0, 0.9504844339512095, 0.8117449009293668,
       0.6112604669781572, 0.38873953302184283, 0.18825509907063326, 0.04951556604879048, 0});
  expect_factors({.kind = ScheduleKind::cosine}, 4,
                 {1, 0.8535533905932737, 0.5, 0.14644660940672627, 0});
}

TEST(Schedule, a_warmup_as_long_as_the_run_divides_by_nothing) {
  expect_factors({.kind = ScheduleKind::linear, .warmup_steps = 5}, 5, {0, 0.2, 0.4, 0.6, 0.8, 0});
  expect_factors({.kind = ScheduleKind::cosine, .warmup_steps = 7}, 5, {0, 1 / 7., 2 / 7.});
}

TEST(Schedule, a_ratio_is_of_the_whole_run_and_rounded_up) {
  const ScheduleSettings settings{.kind = ScheduleKind::linear, .warmup_ratio = 0.03};
  EXPECT_EQ(Schedule(settings, 100).warmup_steps(), 3U);
  EXPECT_EQ(Schedule(settings, 101).warmup_steps(), 4U);
  EXPECT_EQ(Schedule(settings, 1).warmup_steps(), 1U);
}

}  // namespace
}  // namespace headroom::trainer
