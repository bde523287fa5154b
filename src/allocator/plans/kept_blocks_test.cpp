// SPDX-License-Identifier: Apache-2.0
// A job that keeps a loss or a metric of every step is never again as it was, and has iterations
// all the same.
#include "allocator/plans/kept_blocks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "allocator/plans/testing/finder_program.h"
#include "allocator/plans/testing/training_job.h"

namespace headroom::allocator {
namespace {

using Random = std::independent_bits_engine<std::mt19937, 32, std::uint32_t>;
using Tokens = std::function<std::uint64_t(int)>;

constexpr std::uint64_t mib = std::uint64_t{1} << 20U;

void note(KeptBlocks& kept_blocks, std::uint64_t blocks) {
  kept_blocks.note({blocks, 512 * blocks});
}
bool expects(const KeptBlocks& kept_blocks, std::uint64_t blocks) {
  return kept_blocks.expects({blocks, 512 * blocks});
}

TEST(KeptBlocks, what_was_kept_twice_is_expected) {
  KeptBlocks kept_blocks;
  EXPECT_FALSE(kept_blocks.is_known());
  note(kept_blocks, 2);
  EXPECT_TRUE(kept_blocks.is_known());
  EXPECT_FALSE(expects(kept_blocks, 2));
  note(kept_blocks, 2);
  EXPECT_TRUE(expects(kept_blocks, 2));
  EXPECT_FALSE(expects(kept_blocks, 1));
  EXPECT_FALSE(expects(kept_blocks, 0));
}

TEST(KeptBlocks, larger_blocks_than_ever_are_not_expected) {
  KeptBlocks kept_blocks;
  for (const std::uint64_t bytes : {1024U, 2048U, 1024U}) kept_blocks.note({2, bytes});
  EXPECT_TRUE(kept_blocks.expects({2, 2048}));
  EXPECT_FALSE(kept_blocks.expects({2, 2560}));
}

TEST(KeptBlocks, two_counts_are_known) {
  KeptBlocks kept_blocks;
  for (const std::uint64_t blocks : {1U, 1U, 1U, 3U, 1U, 3U, 1U}) note(kept_blocks, blocks);
  EXPECT_TRUE(expects(kept_blocks, 1));
  EXPECT_TRUE(expects(kept_blocks, 3));
  note(kept_blocks, 5);  // The older of the two goes.
  EXPECT_TRUE(expects(kept_blocks, 1));
  EXPECT_FALSE(expects(kept_blocks, 3));
  EXPECT_FALSE(expects(kept_blocks, 5));
}

TEST(KeptBlocks, a_job_that_keeps_nothing_any_more_is_noticed) {
  KeptBlocks kept_blocks;
  for (int i = 0; i < 2; ++i) note(kept_blocks, 1);
  for (int i = 0; i < 128; ++i) note(kept_blocks, 0);
  EXPECT_TRUE(expects(kept_blocks, 1));
  note(kept_blocks, 0);
  EXPECT_FALSE(expects(kept_blocks, 1));
  EXPECT_FALSE(kept_blocks.is_known());
}

struct Kept {
  int losses = 0;  // Of each micro-batch.
  int norms = 0;   // Of each step.
};

struct Played {
  std::vector<std::size_t> begins;  // Of the steps.
  std::vector<std::size_t> ends;    // Of the iterations that were found.
};

constexpr std::size_t steps = 24;

// Plays 24 steps, of which numbers are kept from step `since` on.
Played play(const TrainingShape& shape, const Kept& kept, std::size_t since, const Tokens& tokens) {
  FinderProgram program;
  TrainingJob job(program, shape);
  Played played;
  for (std::size_t step = 0; step < steps; ++step) {
    if (step == since) job.keep(kept.losses, kept.norms);
    played.begins.push_back(program.allocations());
    job.step(tokens);
  }
  played.ends = program.ends();
  return played;
}

// Each of the steps from this one on is an iteration, or so many.
void expect_steps_from(std::size_t step, const Played& played, std::size_t per_step,
                       const std::string& what) {
  const std::size_t begin = played.begins[step];
  std::vector<std::size_t> ends;
  std::copy_if(played.ends.begin(), played.ends.end(), std::back_inserter(ends),
               [begin](std::size_t end) { return end > begin; });
  EXPECT_GE(ends.size(), (steps - step - 1) * per_step) << what;
  EXPECT_LE(ends.size(), (steps - step) * per_step) << what;
  if (per_step > 1) return;
  // It may be found elsewhere than where the step begins here, but always at the same place.
  const std::size_t blocks = played.begins[steps - 1] - played.begins[steps - 2];
  for (std::size_t i = 1; i < ends.size(); ++i)
    EXPECT_EQ(ends[i] - ends[i - 1], blocks) << what << i;
}

class KeptNumbers : public testing::TestWithParam<TrainingShape> {
 protected:
  static constexpr std::size_t late = 8;

  static void expect_steps(const Tokens& tokens) {
    const bool has_no_steps = GetParam().gradients == TrainingShape::Gradients::kept &&
                              GetParam().optimizer == TrainingShape::Optimizer::fused;
    const std::size_t per_step =
        has_no_steps ? static_cast<std::size_t>(GetParam().micro_batches) : 1;
    for (const Kept& kept : {Kept{1, 0}, Kept{2, 0}, Kept{0, 1}, Kept{0, 2}, Kept{1, 1}}) {
      const std::string what = std::to_string(kept.losses) + " losses, " +
                               std::to_string(kept.norms) + " norms kept, iteration ";
      expect_steps_from(12, play(GetParam(), kept, 0, tokens), per_step, what);
      expect_steps_from(18, play(GetParam(), kept, late, tokens), per_step, "later " + what);
    }
  }
};

TEST_P(KeptNumbers, of_equal_steps) {
  expect_steps([](int) { return 1024; });
}

TEST_P(KeptNumbers, of_micro_batches_that_differ_in_length) {
  expect_steps([](int batch) { return 512 + static_cast<std::uint64_t>(batch) * 97 % 600; });
}

TEST_P(KeptNumbers, of_steps_of_varying_lengths) {
  Random random(5);
  expect_steps([&](int) { return 512 + random() % 600; });
}

INSTANTIATE_TEST_SUITE_P(Jobs, KeptNumbers, testing::ValuesIn(training_shapes()),
                         [](const auto& instance) { return to_string(instance.param); });

// The sizes of the iterations that were found from this allocation on, and how often.
std::map<std::size_t, std::size_t> found_from(const FinderProgram& program,
                                              std::size_t allocation) {
  std::map<std::size_t, std::size_t> counts;
  for (std::size_t i = 0; i < program.found().size(); ++i)
    if (program.ends()[i] > allocation) ++counts[program.found()[i]];
  return counts;
}

class KeepingJob : public testing::Test {
 protected:
  // Every step keeps a loss; `before` is what else happens before each.
  void train(int count, const std::function<void(int)>& before) {
    for (int step = 0; step < count; ++step) {
      job_.keep(1, 0);
      before(step);
      begin_ = program_.allocations();
      job_.step(1024);
    }
  }
  std::size_t blocks() const { return program_.allocations() - begin_; }

  FinderProgram program_;
  TrainingJob<FinderProgram> job_{program_, {.micro_batches = 1}};
  std::size_t begin_ = 0;
};

TEST_F(KeepingJob, more_may_be_kept_of_every_tenth_step) {
  train(30, [&](int step) { job_.keep(step % 10 == 5 ? 4 : 1, 0); });
  const std::size_t known = program_.allocations();
  train(30, [&](int step) { job_.keep(step % 10 == 5 ? 4 : 1, 0); });
  const auto found = found_from(program_, known);
  EXPECT_EQ(found, (std::map<std::size_t, std::size_t>{{blocks(), 26}, {blocks() + 3, 3}}));
}

TEST_F(KeepingJob, its_lists_may_be_cleared) {
  train(100, [&](int step) {
    if (step % 20 == 19) job_.free_kept();
  });
  const auto found = found_from(program_, 0);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found.begin()->first, blocks());
  EXPECT_GE(found.begin()->second, 99U - 5U - 3U);
}

TEST_F(KeepingJob, a_large_tensor_that_is_kept_now_and_then_does_no_harm) {
  train(60, [&](int step) {
    if (step % 15 == 14) program_.allocate(64 * mib);
  });
  const auto found = found_from(program_, 0);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found.begin()->first, blocks());
  EXPECT_GE(found.begin()->second, 60U - 4U * 4U - 3U);
}

TEST_F(KeepingJob, may_keep_nothing_any_more) {
  train(10, [](int) {});
  const std::size_t begin = program_.allocations();
  train(10, [&](int) { job_.keep(0, 0); });
  EXPECT_EQ(found_from(program_, begin), (std::map<std::size_t, std::size_t>{{blocks(), 9}}));
}

// A model that is built, or a cache that grows, keeps a block with every wave: no iterations.
TEST(KeepingLarge, what_grows_by_a_large_block_each_time_has_no_iterations) {
  FinderProgram program;
  for (int i = 0; i < 3000; ++i) program.allocate(64 * mib);
  for (int wave = 0; wave < 100; ++wave) {
    program.allocate(2 * mib);  // Little beside what lives, as a layer's checkpoint is.
    std::vector<std::size_t> blocks;
    for (int k = 0; k < 30; ++k) blocks.push_back(program.allocate(8 * mib));
    for (const std::size_t block : blocks) program.free(block);
  }
  EXPECT_TRUE(program.found().empty());
}

}  // namespace
}  // namespace headroom::allocator
