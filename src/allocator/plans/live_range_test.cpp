// SPDX-License-Identifier: Apache-2.0
#include "allocator/plans/swing.h"

#include <gtest/gtest.h>

namespace headroom::allocator {
namespace {

TEST(Swing, less_than_half_of_the_largest_is_small) {
  Swing swing;
  EXPECT_TRUE(swing.add(100, 10));
  EXPECT_FALSE(swing.add(49, 20));
  EXPECT_TRUE(swing.add(50, 30));
  EXPECT_EQ(swing.bytes(), 100U);
  EXPECT_TRUE(swing.add(300, 40));
  EXPECT_FALSE(swing.add(149, 50));
}

TEST(Swing, a_fall_that_does_not_come_again_is_forgotten) {
  Swing swing;
  swing.add(1000, 10);
  EXPECT_FALSE(swing.add(50, 100));
  EXPECT_FALSE(swing.add(5, 10 + Swing::memory));
  EXPECT_FALSE(swing.add(5, 11 + Swing::memory)) << "there was a larger one since";
  EXPECT_EQ(swing.bytes(), 50U);
  EXPECT_TRUE(swing.add(25, 12 + Swing::memory));
}

TEST(Swing, a_fall_that_comes_again_is_not) {
  Swing swing;
  for (std::uint64_t at = 1; at < 20 * Swing::memory; at += Swing::memory) {
    EXPECT_TRUE(swing.add(1000, at));
    for (std::uint64_t k = 1; k < Swing::memory; k += 100) EXPECT_FALSE(swing.add(400, at + k));
  }
}

}  // namespace
}  // namespace headroom::allocator
