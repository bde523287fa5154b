// SPDX-License-Identifier: Apache-2.0
#include "allocator/plans/live_range.h"

#include <gtest/gtest.h>

namespace headroom::allocator {
namespace {

TEST(LiveRange, less_than_half_of_the_largest_is_small) {
  LiveRange range;
  EXPECT_TRUE(range.add(100, 10));
  EXPECT_FALSE(range.add(49, 20));
  EXPECT_TRUE(range.add(50, 30));
  EXPECT_EQ(range.bytes(), 100U);
  EXPECT_TRUE(range.add(300, 40));
  EXPECT_FALSE(range.add(149, 50));
}

TEST(LiveRange, a_fall_that_does_not_come_again_is_forgotten) {
  LiveRange range;
  range.add(1000, 10);
  EXPECT_FALSE(range.add(50, 100));
  EXPECT_FALSE(range.add(5, 10 + LiveRange::memory));
  EXPECT_FALSE(range.add(5, 11 + LiveRange::memory)) << "there was a larger one since";
  EXPECT_EQ(range.bytes(), 50U);
  EXPECT_TRUE(range.add(25, 12 + LiveRange::memory));
}

TEST(LiveRange, a_fall_that_comes_again_is_not) {
  LiveRange range;
  for (std::uint64_t at = 1; at < 20 * LiveRange::memory; at += LiveRange::memory) {
    EXPECT_TRUE(range.add(1000, at));
    for (std::uint64_t k = 1; k < LiveRange::memory; k += 100) EXPECT_FALSE(range.add(400, at + k));
  }
}

}  // namespace
}  // namespace headroom::allocator
