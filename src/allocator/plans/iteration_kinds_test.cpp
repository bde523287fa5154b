// SPDX-License-Identifier: Apache-2.0
#include "allocator/plans/iteration_kinds.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace headroom::allocator {
namespace {

// Of so many blocks, each of `bytes`, which all live to the end: one shape for each count.
Iteration iteration(std::uint32_t blocks, std::uint64_t bytes) {
  return Iteration(blocks, IterationBlock{bytes, 0, blocks});
}

TEST(IterationKinds, a_kind_is_known_again_after_others) {
  IterationKinds kinds;
  EXPECT_EQ(kinds.note(iteration(3, 1024)).count, 1U);
  for (int i = 0; i < 5; ++i) kinds.note(iteration(4, 1024));
  const IterationKinds::Kind& kind = kinds.note(iteration(3, 512));
  EXPECT_EQ(kind.count, 2U);
  EXPECT_EQ(kind.smallest, iteration(3, 512));
  EXPECT_EQ(kinds.note(iteration(3, 2048)).smallest, iteration(3, 512));
}

TEST(IterationKinds, the_kinds_that_did_not_come_for_longest_are_forgotten) {
  IterationKinds kinds;
  for (std::uint32_t blocks = 1; blocks <= 9; ++blocks) kinds.note(iteration(blocks, 512));
  EXPECT_EQ(kinds.note(iteration(2, 512)).count, 2U);
  EXPECT_EQ(kinds.note(iteration(1, 512)).count, 1U);
}

TEST(IterationKinds, nothing_stays_of_a_kind_that_is_forgotten) {
  IterationKinds kinds;
  for (std::uint32_t blocks = 2; blocks < 100; ++blocks) {
    kinds.note(iteration(blocks, 512));
    EXPECT_LE(kinds.note(iteration(1, 512)).followers.size(), 8U);
  }
}

TEST(IterationKinds, what_came_most_often_after_the_last_kind_is_expected) {
  IterationKinds kinds;
  EXPECT_EQ(kinds.expected(), nullptr);
  kinds.note(iteration(1, 512));
  EXPECT_EQ(kinds.expected(), nullptr) << "nothing came after it yet";
  for (int round = 0; round < 3; ++round) {
    for (int step = 0; step < 4; ++step) kinds.note(iteration(1, 512));
    kinds.note(iteration(2, 512));
  }
  ASSERT_NE(kinds.expected(), nullptr);
  EXPECT_EQ(kinds.expected()->smallest.size(), 1U) << "a step after an evaluation";
  kinds.note(iteration(1, 512));
  ASSERT_NE(kinds.expected(), nullptr);
  EXPECT_EQ(kinds.expected()->smallest.size(), 1U) << "a step after a step, mostly";
}

}  // namespace
}  // namespace headroom::allocator
