// SPDX-License-Identifier: Apache-2.0
// Which samples lie end to end in which rows.
#include "trainer/data/packing.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "trainer/data/batches.h"
#include "trainer/micro_batch.h"

namespace headroom::trainer {
namespace {

using data::Packing;
using ::testing::ElementsAre;
using ::testing::UnorderedElementsAreArray;

using Lengths = std::vector<std::uint64_t>;

Packing pack(const Lengths& lengths, std::uint64_t longest) {
  return Packing::pack(
      data::shuffled(lengths.size(), 1, 0), [&](std::size_t i) { return lengths[i]; }, longest);
}

TEST(Packing, every_sample_is_in_one_row_and_no_row_is_too_long) {
  std::mt19937 random(5);
  for (const std::size_t count : {1U, 2U, 7U, 100U, 5000U}) {
    for (const std::uint64_t longest : {2U, 64U, 1000U}) {
      Lengths lengths(count);
      for (std::uint64_t& length : lengths) length = 1 + random() % longest;
      const Packing packing = pack(lengths, longest);
      std::multiset<std::size_t> found;
      for (std::size_t row = 0; row < packing.rows(); ++row) {
        std::uint64_t tokens = 0;
        for (const std::size_t sample : packing.row(row)) {
          tokens += lengths[sample];
          found.insert(sample);
        }
        EXPECT_GT(tokens, 0U);
        EXPECT_LE(tokens, longest);
      }
      EXPECT_EQ(found.size(), count);
      EXPECT_EQ(std::set<std::size_t>(found.begin(), found.end()).size(), count);
    }
  }
}

TEST(Packing, rows_are_nearly_full_and_the_same_order_gives_the_same_rows) {
  std::mt19937 random(5);
  Lengths lengths(20000);
  std::uint64_t tokens = 0;
  for (std::uint64_t& length : lengths) tokens += length = 20 + random() % 800;
  const Packing packing = pack(lengths, 1024), again = pack(lengths, 1024);
  EXPECT_GT(static_cast<double>(tokens) / (1024.0 * static_cast<double>(packing.rows())), 0.98);
  ASSERT_EQ(packing.rows(), again.rows());
  for (std::size_t row = 0; row < packing.rows(); ++row)
    EXPECT_TRUE(std::ranges::equal(packing.row(row), again.row(row)));
}

// A window is of 256 rows, here of 512 samples.
TEST(Packing, samples_meet_those_of_their_window_alone) {
  const auto order = data::shuffled(1000, 1, 0);
  const Packing packing = Packing::pack(
      order, [](std::size_t) { return 10; }, 20);
  ASSERT_EQ(packing.rows(), 500U);
  std::vector<std::size_t> found;
  for (std::size_t row = 0; row < 256; ++row)
    found.insert(found.end(), packing.row(row).begin(), packing.row(row).end());
  EXPECT_THAT(found, UnorderedElementsAreArray(order.begin(), order.begin() + 512));
}

TEST(Packing, the_row_with_the_least_room_that_suffices_is_taken) {
  // 70 and 60 begin rows; 35 fits the second alone, 30 the first, and 5 what is left.
  const Lengths lengths = {5, 30, 35, 60, 70};
  const std::vector<std::size_t> order = {0, 1, 2, 3, 4};
  const Packing packing = Packing::pack(
      order, [&](std::size_t i) { return lengths[i]; }, 100);
  ASSERT_EQ(packing.rows(), 2U);
  EXPECT_THAT(packing.row(0), ElementsAre(4, 1));
  EXPECT_THAT(packing.row(1), ElementsAre(3, 2, 0));
}

TEST(Packing, a_micro_batch_has_no_padding_and_no_target_crosses_a_border) {
  data::SampleSet samples(data::Samples{{5, 6}, {7, 8, 9}, {~1, 2, 3, 4}});
  samples.pack(std::vector<std::size_t>{0, 1, 2}, 5);
  ASSERT_EQ(samples.rows(), 2U);
  const data::StepSamples step = data::make_step(samples, {1, 0}, 0, {.micro = 2});
  EXPECT_EQ(step.rows, 2U);
  EXPECT_EQ(step.samples, 3U);
  EXPECT_EQ(step.tokens, 9U);
  EXPECT_EQ(step.targets, 6U);
  const MicroBatch batch = *data::make_micro_batch(samples, step.micro_batches[0]);
  EXPECT_EQ(batch.batch, 3);
  EXPECT_EQ(batch.sequence, 4);
  EXPECT_THAT(batch.cu_seqlens, ElementsAre(0, 3, 5, 9));
  EXPECT_TRUE(at::equal(batch.ids, at::tensor({7, 8, 9, 5, 6, 1, 2, 3, 4}, at::kLong)));
  EXPECT_TRUE(
      at::equal(batch.targets, at::tensor({8, 9, -100, 6, -100, 2, 3, 4, -100}, at::kLong)));
}

}  // namespace
}  // namespace headroom::trainer
