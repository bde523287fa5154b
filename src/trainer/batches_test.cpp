// SPDX-License-Identifier: Apache-2.0
#include "trainer/data/batches.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "trainer/micro_batch.h"

namespace headroom::trainer::data {
namespace {

using ::testing::ElementsAre;

TEST(Batches, shuffling_is_a_permutation_that_depends_on_seed_and_epoch) {
  const auto first = shuffled(100, 1, 0);
  auto sorted = first;
  std::sort(sorted.begin(), sorted.end());
  for (std::size_t i = 0; i < sorted.size(); ++i) EXPECT_EQ(sorted[i], i);
  EXPECT_EQ(first, shuffled(100, 1, 0));
  EXPECT_NE(first, shuffled(100, 1, 1));
  EXPECT_NE(first, shuffled(100, 2, 0));
  EXPECT_NE(first, sorted);
}

TEST(Batches, a_step_is_cut_into_micro_batches_and_the_last_one_is_smaller) {
  const Samples samples = {{1, 2}, {1, 2, 3}, {1, 2}, {1, 2, 3, 4}, {1, 2}};
  const std::vector<std::size_t> order = {4, 3, 2, 1, 0};
  const StepSamples step = make_step(samples, order, 0, {.micro = 2, .accumulate = 2});
  EXPECT_THAT(step.micro_batches, ElementsAre(ElementsAre(4, 3), ElementsAre(2, 1)));
  EXPECT_EQ(step.samples, 4U);
  EXPECT_EQ(step.tokens, 11U);
  EXPECT_EQ(step.targets, 7U);
  const StepSamples last = make_step(samples, order, 4, {.micro = 2, .accumulate = 2});
  EXPECT_THAT(last.micro_batches, ElementsAre(ElementsAre(0)));
}

TEST(Batches, samples_are_padded_to_the_longest_and_targets_are_the_next_tokens) {
  const MicroBatch batch = *make_micro_batch(Samples{{5, 6}, {7, 8, 9}}, {0, 1});
  EXPECT_EQ(batch.batch, 2);
  EXPECT_EQ(batch.sequence, 3);
  const auto expected_ids = at::tensor({5, 6, 0, 7, 8, 9}, at::kLong);
  const auto expected_targets = at::tensor({6, -100, -100, 8, 9, -100}, at::kLong);
  EXPECT_TRUE(at::equal(batch.ids, expected_ids));
  EXPECT_TRUE(at::equal(batch.targets, expected_targets));
}

TEST(Batches, what_is_only_read_is_in_the_input_and_is_no_target) {
  const Samples samples = {{~5, ~6, 7, ~0, 8}};
  EXPECT_EQ(make_step(samples, {0}, 0, {}).targets, 2U);
  const MicroBatch batch = *make_micro_batch(samples, {0});
  EXPECT_TRUE(at::equal(batch.ids, at::tensor({5, 6, 7, 0, 8}, at::kLong)));
  EXPECT_TRUE(at::equal(batch.targets, at::tensor({-100, 7, -100, 8, -100}, at::kLong)));
}

}  // namespace
}  // namespace headroom::trainer::data
