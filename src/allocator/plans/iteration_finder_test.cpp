// SPDX-License-Identifier: Apache-2.0
#include "allocator/plans/iteration_finder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "allocator/plans/testing/finder_program.h"
#include "allocator/plans/testing/training_job.h"

namespace headroom::allocator {
namespace {

using Random = std::independent_bits_engine<std::mt19937, 32, std::uint32_t>;

constexpr std::uint64_t kib = 1024;
constexpr std::uint64_t mib = 1024 * kib;

using Program = FinderProgram;

struct Step {
  int layers = 12;
  std::uint64_t tokens = 256;  // All activations grow with it.
  int micro_batches = 1;
  StreamId side = 0;  // Where the backward pass has its temporaries.
};

// A training step: activations from forward to backward, gradients to the end.
void train(Program& program, const Step& step) {
  std::vector<std::size_t> gradients;
  for (int batch = 0; batch < step.micro_batches; ++batch) {
    std::vector<std::size_t> activations;
    for (int layer = 0; layer < step.layers; ++layer) {
      activations.push_back(program.allocate(step.tokens * 16 * kib));
      program.pass(step.tokens * 4 * kib);
      activations.push_back(program.allocate(step.tokens * 2 * kib));
    }
    for (int layer = 0; layer < step.layers; ++layer) {
      if (batch == 0) gradients.push_back(program.allocate(2 * mib));
      program.pass(step.tokens * 8 * kib, step.side);
      program.free(activations[activations.size() - 2]);
      program.free(activations.back());
      activations.resize(activations.size() - 2);
    }
  }
  for (const std::size_t gradient : gradients) program.free(gradient);
}

std::vector<std::size_t> load_weights(Program& program, int layers) {
  std::vector<std::size_t> weights;
  for (int i = 0; i < layers; ++i) weights.push_back(program.allocate(2 * mib));
  return weights;
}

TEST(IterationFinder, steps_are_found_where_they_begin) {
  Program program;
  load_weights(program, 12);
  std::vector<std::size_t> begins;
  for (int i = 0; i < 6; ++i) {
    begins.push_back(program.allocations());
    train(program, {});
  }
  EXPECT_EQ(program.ends(), (std::vector(begins.begin() + 1, begins.end())));
  EXPECT_EQ(program.found(), std::vector<std::size_t>(5, 60));
  EXPECT_TRUE(program.finder().repeats());
}

// The state that the first step leaves behind raises the level for good.
TEST(IterationFinder, an_optimizer_state_made_in_the_first_step_does_no_harm) {
  Program program;
  load_weights(program, 12);
  std::vector<std::size_t> begins;
  for (int i = 0; i < 7; ++i) {
    train(program, {});
    begins.push_back(program.allocations());
    if (i == 0) load_weights(program, 24);
    if (i == 0) begins.push_back(program.allocations());
  }
  ASSERT_GE(program.found().size(), 5U);
  EXPECT_EQ(program.found(), std::vector<std::size_t>(program.found().size(), 60));
  for (const std::size_t end : program.ends())
    EXPECT_TRUE(std::find(begins.begin(), begins.end(), end) != begins.end()) << end;
}

// Before the step is known, its micro-batches are what repeats.
TEST(IterationFinder, micro_batches_are_found_until_the_step_is) {
  Program program;
  load_weights(program, 12);
  for (int i = 0; i < 6; ++i) train(program, {.micro_batches = 4});
  const auto& found = program.found();
  const auto step = std::find(found.begin(), found.end(), 60U + 3U * 48U);
  EXPECT_GT(step - found.begin(), 0);
  EXPECT_GE(found.end() - step, 4);
  EXPECT_EQ(std::count(found.begin(), step, 48U), step - found.begin());
  EXPECT_EQ(std::count(step, found.end(), 60U + 3U * 48U), found.end() - step);
}

TEST(IterationFinder, steps_of_varying_lengths_are_found) {
  Program program;
  Random random(3);
  load_weights(program, 12);
  std::vector<std::size_t> begins;
  for (int i = 0; i < 30; ++i) {
    begins.push_back(program.allocations());
    train(program, {.tokens = 128 + random() % 900});
  }
  EXPECT_GE(program.found().size(), 27U);
  EXPECT_EQ(program.found(), std::vector<std::size_t>(program.found().size(), 60));
  EXPECT_FALSE(program.finder().repeats());
}

// The first one found is compared with what came before it, and not with itself.
TEST(IterationFinder, only_what_was_asked_for_in_the_iteration_before_repeats) {
  Program program;
  load_weights(program, 12);
  for (std::uint64_t i = 0; i < 20; ++i) {
    train(program, {.tokens = 100 + 37 * i % 64});
    if (!program.found().empty()) {
      EXPECT_FALSE(program.finder().repeats()) << "step " << i;
    }
  }
  for (int i = 0; i < 3; ++i) train(program, {});
  EXPECT_TRUE(program.finder().repeats());
  train(program, {.tokens = 99});
  train(program, {.tokens = 98});
  EXPECT_FALSE(program.finder().repeats());
}

// The level comes back within a step, by waves that are small against the step.
TEST(IterationFinder, small_waves_on_the_border_are_no_iterations) {
  Program program;
  load_weights(program, 12);
  std::vector<std::size_t> begins;
  for (int i = 0; i < 8; ++i) {
    begins.push_back(program.allocations());
    for (int k = 0; k < 20; ++k) program.pass(64 * kib);
    train(program, {});
    for (int k = 0; k < 20; ++k) program.pass(32 * kib);
  }
  ASSERT_GE(program.found().size(), 6U);
  const std::vector<std::size_t> later(program.found().begin() + 1, program.found().end());
  EXPECT_EQ(later, std::vector<std::size_t>(later.size(), 100));
}

// A block that crosses the border belongs to the iteration that asked for it, and never dies there.
TEST(IterationFinder, blocks_that_outlive_a_step_are_marked) {
  Program program;
  load_weights(program, 12);
  std::size_t loss = program.allocate(512);
  for (int i = 0; i < 6; ++i) {
    train(program, {});
    const std::size_t next = program.allocate(512);
    program.free(loss);
    loss = next;
  }
  ASSERT_GE(program.found().size(), 3U);
  const Iteration& last = program.finder().last();
  EXPECT_EQ(last.size(), 61U);
  EXPECT_EQ(std::count_if(last.begin(), last.end(),
                          [](const auto& block) { return block.dies == IterationBlock::never; }),
            1);
}

TEST(IterationFinder, streams_are_kept) {
  Program program;
  load_weights(program, 12);
  for (int i = 0; i < 5; ++i) train(program, {.side = 3});
  ASSERT_FALSE(program.found().empty());
  const Iteration& last = program.finder().last();
  EXPECT_EQ(
      std::count_if(last.begin(), last.end(), [](const auto& block) { return block.stream == 3; }),
      12);
}

TEST(IterationFinder, what_only_grows_or_is_too_short_has_no_iterations) {
  Program growing;
  for (int i = 0; i < 3000; ++i) growing.allocate((i % 7 + 1) * kib);
  EXPECT_TRUE(growing.found().empty());
  Program short_loop;  // Two blocks a turn: no step of anything.
  for (int i = 0; i < 3000; ++i) {
    const std::size_t block = short_loop.allocate(mib);
    short_loop.pass(mib);
    short_loop.free(block);
  }
  for (const std::size_t blocks : short_loop.found()) EXPECT_GE(blocks, 16U);
}

// A run of any length keeps at most so many allocations in mind, and finds steps after it.
TEST(IterationFinder, a_long_beginning_is_forgotten) {
  constexpr std::size_t most = std::size_t{1} << 20U;
  Program program;
  for (std::size_t i = 0; i < 2 * most + 1000; ++i) program.allocate(512);
  for (int i = 0; i < 6; ++i) train(program, {});
  ASSERT_FALSE(program.found().empty());
  for (const std::size_t blocks : program.found()) EXPECT_LE(blocks, most);
  EXPECT_EQ(program.found().back(), 60U);
}

TEST(IterationFinder, a_step_of_more_blocks_than_are_remembered_is_none) {
  Program program;
  load_weights(program, 12);
  for (int step = 0; step < 3; ++step) {
    const std::size_t large = program.allocate(64 * mib);
    for (std::size_t i = 0; i < (std::size_t{1} << 20U) + 1000; ++i) program.pass(512);
    program.free(large);
  }
  for (const std::size_t blocks : program.found()) EXPECT_LE(blocks, std::size_t{1} << 20U);
}

TEST(IterationFinder, steps_of_a_second_job_are_found_on_top_of_the_first) {
  Program program;
  load_weights(program, 24);
  for (int i = 0; i < 5; ++i) train(program, {.layers = 24});
  load_weights(program, 4);
  for (int i = 0; i < 6; ++i) train(program, {.layers = 16});
  ASSERT_FALSE(program.found().empty());
  EXPECT_EQ(program.found().back(), 80U);
}

// A large fall is forgotten in time, whatever made it, and the small waves of what comes after it
// are no iterations either.
class AfterALargeFall : public testing::Test {
 protected:
  // Plays the small job, whose steps have small waves in them, and says after how many allocations
  // only its steps are found.
  static void expect_steps_soon(Program& program) {
    load_weights(program, 12);
    const std::size_t begin = program.allocations();
    std::vector<std::size_t> begins;
    for (int i = 0; i < 90; ++i) {
      begins.push_back(program.allocations());
      for (int k = 0; k < 20; ++k) program.pass(64 * kib);
      train(program, {.tokens = 64});
    }
    const std::size_t steps = begins[1] - begins[0];
    std::vector<std::size_t> later;
    for (std::size_t i = 0; i < program.found().size(); ++i)
      if (program.ends()[i] > begin + LiveRange::memory + 3 * steps)
        later.push_back(program.found()[i]);
    EXPECT_GE(later.size(), 90 - LiveRange::memory / steps - 6);
    EXPECT_EQ(later, std::vector<std::size_t>(later.size(), steps));
  }
};

TEST_F(AfterALargeFall, of_a_model_that_was_unloaded) {
  Program program;
  std::vector<std::size_t> weights;
  for (int i = 0; i < 300; ++i) weights.push_back(program.allocate(200 * mib));
  for (const std::size_t weight : weights) program.free(weight);
  expect_steps_soon(program);
}

TEST_F(AfterALargeFall, of_a_larger_job) {
  Program program;
  TrainingJob job(program, {.micro_batches = 2, .width = 4096});
  for (int i = 0; i < 8; ++i) job.step(8192);
  job.end();
  expect_steps_soon(program);
}

TEST_F(AfterALargeFall, of_an_evaluation_with_large_batches) {
  Program program;
  for (int i = 0; i < 5; ++i) train(program, {.tokens = 64});
  for (int i = 0; i < 5; ++i) train(program, {.tokens = 65536});
  expect_steps_soon(program);
}

TEST_F(AfterALargeFall, of_a_long_generation) {
  Program program;
  std::vector<std::size_t> cache;
  for (int token = 0; token < 3000; ++token) {
    cache.push_back(program.allocate(20 * mib));
    for (int k = 0; k < 10; ++k) program.pass(mib);
  }
  for (const std::size_t block : cache) program.free(block);
  expect_steps_soon(program);
}

// Whatever the program does, what is found is what was requested (Program compares them).
TEST(IterationFinder, what_is_found_is_what_was_asked_for) {
  for (std::uint32_t seed = 1; seed <= 60; ++seed) {
    Random random(seed);
    Program program;
    std::vector<std::size_t> live;
    const int steps = 40;
    for (int i = 0; i < steps; ++i) {
      if (random() % 8 == 0) live.push_back(program.allocate((1 + random() % 4096) * 512));
      if (seed % 2 == 0) program.allocate(512 * (1 + random() % 2));
      if (random() % 3 != 0)
        train(program, {.layers = static_cast<int>(1 + random() % 8),
                        .tokens = 64 + random() % 64,
                        .micro_batches = static_cast<int>(1 + random() % 3)});
      for (std::uint32_t k = random() % 60; k > 0; --k) {
        if (random() % 2 == 0 || live.empty()) {
          live.push_back(program.allocate((1 + random() % 4096) * 512, random() % 2));
          continue;
        }
        std::swap(live[random() % live.size()], live.back());
        program.free(live.back());
        live.pop_back();
      }
    }
    ASSERT_FALSE(testing::Test::HasFailure()) << "with seed " << seed;
  }
}

}  // namespace
}  // namespace headroom::allocator
