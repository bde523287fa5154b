// SPDX-License-Identifier: Apache-2.0
#include "allocator/plans/rhythm.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

namespace headroom::allocator {
namespace {

// Plays stretches of the lengths that the letters stand for, and says after which of them an
// iteration ended, and of how many allocations: "1 1 4".
std::string play(Rhythm& rhythm, const std::string& stretches) {
  std::string ends;
  for (const char stretch : stretches) {
    const auto length = static_cast<std::uint64_t>(stretch) - 'a' + 1;
    if (rhythm.add({length})) ends += std::to_string(rhythm.allocations()) + " ";
  }
  return ends;
}

TEST(Rhythm, equal_stretches_are_iterations_of_their_own) {
  Rhythm rhythm;
  EXPECT_EQ(play(rhythm, "aaaaaa"), "1 1 1 1 1 1 ");
  EXPECT_TRUE(rhythm.is_steady());
  EXPECT_FALSE(rhythm.is_wider());
}

TEST(Rhythm, what_came_twice_is_one_iteration_from_then_on) {
  Rhythm rhythm;
  EXPECT_EQ(play(rhythm, "aaab"), "1 1 1 2 ");
  EXPECT_EQ(play(rhythm, "aaa"), "1 1 1 ");
  EXPECT_EQ(play(rhythm, "b"), "5 ");
  EXPECT_TRUE(rhythm.is_wider());
  EXPECT_EQ(play(rhythm, "aaabaaab"), "5 5 ");
  EXPECT_FALSE(rhythm.is_wider());
  EXPECT_TRUE(rhythm.is_steady());
}

TEST(Rhythm, it_is_given_up_at_the_first_other_stretch) {
  Rhythm rhythm;
  play(rhythm, "abab");
  EXPECT_EQ(play(rhythm, "ab"), "3 ");
  EXPECT_EQ(play(rhythm, "ac"), "3 ");
  EXPECT_FALSE(rhythm.is_steady());
  EXPECT_EQ(play(rhythm, "acac"), "1 4 4 ");
}

TEST(Rhythm, one_that_is_not_wanted_is_offered_again) {
  Rhythm rhythm;
  play(rhythm, "aabaab");
  ASSERT_TRUE(rhythm.is_wider());
  rhythm.give_up();
  EXPECT_EQ(rhythm.allocations(), 2U);
  EXPECT_EQ(play(rhythm, "a"), "4 ");
  EXPECT_TRUE(rhythm.is_wider());
}

TEST(Rhythm, no_rhythm_no_iterations_of_several) {
  Rhythm rhythm;
  for (std::uint64_t i = 1; i < 2000; ++i) {
    EXPECT_TRUE(rhythm.add({i}));
    EXPECT_EQ(rhythm.allocations(), i);
    EXPECT_FALSE(rhythm.is_steady());
  }
}

TEST(Rhythm, up_to_64_stretches_make_an_iteration) {
  for (const std::size_t period : {2U, 63U, 64U, 65U}) {
    Rhythm rhythm;
    const std::string one = std::string(period - 1, 'a') + "b";
    for (int i = 0; i < 10; ++i) play(rhythm, one);
    EXPECT_EQ(rhythm.allocations() == period + 1, period <= 64) << period;
  }
}

TEST(Rhythm, narrower_iterations_are_counted) {
  Rhythm rhythm;
  rhythm.add({.allocations = 10, .inner = 4});
  EXPECT_EQ(rhythm.inner(), 4U);
  EXPECT_TRUE(rhythm.is_wider());
  rhythm.add({.allocations = 3});
  EXPECT_EQ(rhythm.inner(), 0U);
  EXPECT_FALSE(rhythm.is_wider());
  rhythm.add({.allocations = 10, .inner = 4});
  rhythm.add({.allocations = 3});
  EXPECT_EQ(rhythm.inner(), 5U);
  EXPECT_TRUE(rhythm.is_wider());
}

TEST(Rhythm, knows_the_last_lengths) {
  Rhythm rhythm;
  play(rhythm, "abc");
  EXPECT_TRUE(rhythm.knows({2}));
  EXPECT_FALSE(rhythm.knows({4}));
  play(rhythm, std::string(16, 'd'));
  EXPECT_FALSE(rhythm.knows({2}));
}

// What is kept of some of them makes no longer rhythm.
TEST(Rhythm, what_is_kept_does_not_count) {
  Rhythm rhythm;
  for (int i = 0; i < 4; ++i) {
    for (int k = 0; k < 4; ++k) EXPECT_TRUE(rhythm.add({.allocations = 20}));
    EXPECT_TRUE(rhythm.add({.allocations = 23, .kept = 3}));
    EXPECT_EQ(rhythm.allocations(), 23U);
  }
  EXPECT_TRUE(rhythm.knows({.allocations = 21, .kept = 1}));
  EXPECT_FALSE(rhythm.knows({.allocations = 21}));
}

}  // namespace
}  // namespace headroom::allocator
