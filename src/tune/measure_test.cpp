// SPDX-License-Identifier: Apache-2.0
#include "tune/measure.h"

#include <gtest/gtest.h>

namespace headroom::tune {
namespace {

TEST(ItemTime, is_what_one_more_item_takes_whatever_is_under_way) {
  // Four at once, one after the other by a single worker: each waits for three others.
  EXPECT_EQ(item_ms({10, 20, 30, 40, 40, 40, 40, 40}, 4, 4), 10);
  // The same by four workers: each takes as long, and four are done in that time.
  EXPECT_EQ(item_ms(std::vector<double>(8, 40), 4, 4), 10);
  EXPECT_EQ(item_ms({7}, 1, 1), 7);
  EXPECT_FALSE(item_ms({}, 4, 4));
}

TEST(ItemTime, a_model_that_is_loaded_late_is_left_out_but_two_speeds_are_not) {
  EXPECT_EQ(item_ms({900, 10, 10, 10, 900, 10, 10, 10, 10}, 1, 1), 10);
  EXPECT_EQ(item_ms({10, 10, 20, 10, 20, 10, 20}, 1, 1), 15);
}

TEST(WarmUp, reaches_every_worker) {
  Space space;
  space.axes.resize(1);
  space.axes[0].setting.role = TuneSetting::Role::workers;
  space.axes[0].setting.values = {"1", "2", "8", "100"};
  EXPECT_EQ(warm_up_of(space, {0}, 4), 4U);
  EXPECT_EQ(warm_up_of(space, {1}, 4), 6U);
  EXPECT_EQ(warm_up_of(space, {2}, 4), 18U);
  EXPECT_EQ(warm_up_of(space, {3}, 4), 64U);
  EXPECT_EQ(warm_up_of(space, {3}, 100), 100U);
}

}  // namespace
}  // namespace headroom::tune
