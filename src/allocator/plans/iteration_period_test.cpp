// SPDX-License-Identifier: Apache-2.0
#include "allocator/plans/iteration_period.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

namespace headroom::allocator {
namespace {

// Plays stretches of the lengths that the letters stand for, and says after which of them an
// iteration ended, and of how many allocations: "1 1 4".
std::string play(IterationPeriod& periods, const std::string& stretches) {
  std::string ends;
  for (const char stretch : stretches) {
    const auto length = static_cast<std::uint64_t>(stretch) - 'a' + 1;
    if (periods.add({length})) ends += std::to_string(periods.allocations()) + " ";
  }
  return ends;
}

TEST(IterationPeriod, equal_stretches_are_iterations_of_their_own) {
  IterationPeriod periods;
  EXPECT_EQ(play(periods, "aaaaaa"), "1 1 1 1 1 1 ");
  EXPECT_TRUE(periods.is_steady());
  EXPECT_FALSE(periods.is_wider());
}

TEST(IterationPeriod, what_came_twice_is_one_iteration_from_then_on) {
  IterationPeriod periods;
  EXPECT_EQ(play(periods, "aaab"), "1 1 1 2 ");
  EXPECT_EQ(play(periods, "aaa"), "1 1 1 ");
  EXPECT_EQ(play(periods, "b"), "5 ");
  EXPECT_TRUE(periods.is_wider());
  EXPECT_EQ(play(periods, "aaabaaab"), "5 5 ");
  EXPECT_FALSE(periods.is_wider());
  EXPECT_TRUE(periods.is_steady());
}

TEST(IterationPeriod, it_is_given_up_at_the_first_other_stretch) {
  IterationPeriod periods;
  play(periods, "abab");
  EXPECT_EQ(play(periods, "ab"), "3 ");
  EXPECT_EQ(play(periods, "ac"), "3 ");
  EXPECT_FALSE(periods.is_steady());
  EXPECT_EQ(play(periods, "acac"), "1 4 4 ");
}

TEST(IterationPeriod, one_that_is_not_wanted_is_offered_again) {
  IterationPeriod periods;
  play(periods, "aabaab");
  ASSERT_TRUE(periods.is_wider());
  periods.give_up();
  EXPECT_EQ(periods.allocations(), 2U);
  EXPECT_EQ(play(periods, "a"), "4 ");
  EXPECT_TRUE(periods.is_wider());
}

TEST(IterationPeriod, no_period_no_iterations_of_several) {
  IterationPeriod periods;
  for (std::uint64_t i = 1; i < 2000; ++i) {
    EXPECT_TRUE(periods.add({i}));
    EXPECT_EQ(periods.allocations(), i);
    EXPECT_FALSE(periods.is_steady());
  }
}

TEST(IterationPeriod, up_to_64_stretches_make_an_iteration) {
  for (const std::size_t period : {2U, 63U, 64U, 65U}) {
    IterationPeriod periods;
    const std::string one = std::string(period - 1, 'a') + "b";
    for (int i = 0; i < 10; ++i) play(periods, one);
    EXPECT_EQ(periods.allocations() == period + 1, period <= 64) << period;
  }
}

TEST(IterationPeriod, narrower_iterations_are_counted) {
  IterationPeriod periods;
  periods.add({.allocations = 10, .inner = 4});
  EXPECT_EQ(periods.inner(), 4U);
  EXPECT_TRUE(periods.is_wider());
  periods.add({.allocations = 3});
  EXPECT_EQ(periods.inner(), 0U);
  EXPECT_FALSE(periods.is_wider());
  periods.add({.allocations = 10, .inner = 4});
  periods.add({.allocations = 3});
  EXPECT_EQ(periods.inner(), 5U);
  EXPECT_TRUE(periods.is_wider());
}

TEST(IterationPeriod, knows_the_last_lengths) {
  IterationPeriod periods;
  play(periods, "abc");
  EXPECT_TRUE(periods.knows({2}));
  EXPECT_FALSE(periods.knows({4}));
  play(periods, std::string(16, 'd'));
  EXPECT_FALSE(periods.knows({2}));
}

// What is kept of some of them makes the period no longer.
TEST(IterationPeriod, what_is_kept_does_not_count) {
  IterationPeriod periods;
  for (int i = 0; i < 4; ++i) {
    for (int k = 0; k < 4; ++k) EXPECT_TRUE(periods.add({.allocations = 20}));
    EXPECT_TRUE(periods.add({.allocations = 23, .kept = 3}));
    EXPECT_EQ(periods.allocations(), 23U);
  }
  EXPECT_TRUE(periods.knows({.allocations = 21, .kept = 1}));
  EXPECT_FALSE(periods.knows({.allocations = 21}));
}

}  // namespace
}  // namespace headroom::allocator
