// SPDX-License-Identifier: Apache-2.0
#include "tune/worth.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace headroom::tune {
namespace {

WorthQuestion question() {
  WorthQuestion it;
  it.items_per_day = 36000;
  it.faster = 10;
  it.gpu_price = 500;
  it.electricity = 0.30;
  it.gpu_watts = 200;
  it.cpu_watts = 100;
  return it;
}

TEST(Worth, hours_energy_and_days_follow_from_the_figures) {
  const Worth worth = worth_of(question(), 1000);  // 36,000 items of 1 s: ten hours.
  EXPECT_DOUBLE_EQ(worth.cpu_hours, 10);
  EXPECT_DOUBLE_EQ(worth.hours_saved(), 9);
  EXPECT_DOUBLE_EQ(*worth.cpu_kwh, 1);
  EXPECT_DOUBLE_EQ(*worth.gpu_kwh, 0.2);
  EXPECT_NEAR(*worth.saved_a_day, 0.24, 1e-12);
  EXPECT_NEAR(*worth.pays_after_days, 500 / 0.24, 1e-6);
  EXPECT_TRUE(worth.keeps_up());
}

TEST(Worth, a_gpu_that_needs_more_electricity_never_pays) {
  WorthQuestion it = question();
  it.gpu_watts = 2000;
  const Worth worth = worth_of(it, 1000);
  EXPECT_FALSE(worth.pays_after_days);
  EXPECT_THAT(worth.why_not, testing::HasSubstr("never"));
  EXPECT_DOUBLE_EQ(worth.hours_saved(), 9);
}

TEST(Worth, what_is_missing_is_named_and_the_hours_are_said_all_the_same) {
  WorthQuestion it = question();
  it.cpu_watts.reset();
  it.gpu_price.reset();
  const Worth worth = worth_of(it, 1000);
  EXPECT_DOUBLE_EQ(worth.hours_saved(), 9);
  EXPECT_FALSE(worth.pays_after_days);
  EXPECT_EQ(worth.why_not, "it takes --gpu-price, --cpu-watts to say when it pays");
}

TEST(Worth, more_than_a_day_of_work_a_day_does_not_keep_up) {
  EXPECT_FALSE(worth_of(question(), 3000).keeps_up());
}

}  // namespace
}  // namespace headroom::tune
