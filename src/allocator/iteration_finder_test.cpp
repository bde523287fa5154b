// SPDX-License-Identifier: Apache-2.0
#include "allocator/iteration_finder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

namespace headroom::allocator {
namespace {

using Random = std::independent_bits_engine<std::mt19937, 32, std::uint32_t>;

constexpr std::uint64_t kib = 1024;
constexpr std::uint64_t mib = 1024 * kib;

// Plays a program to the finder, remembers all of it, and compares each iteration that is found
// with what was really asked for.
class Program {
 public:
  std::size_t allocate(std::uint64_t bytes, StreamId stream = 0) {
    if (finder_.ends_here()) compare();
    const std::uint64_t number = finder_.note_allocate(bytes, stream);
    EXPECT_EQ(number, log_.size());
    log_.push_back({bytes, stream, IterationBlock::never});
    return log_.size() - 1;
  }
  void free(std::size_t number) {
    finder_.note_free(number, log_[number].bytes);
    log_[number].dies = static_cast<std::uint32_t>(log_.size());
  }
  void pass(std::uint64_t bytes, StreamId stream = 0) { free(allocate(bytes, stream)); }

  // The sizes, in blocks, of the iterations found so far, and where each ended.
  const std::vector<std::size_t>& found() const { return found_; }
  const std::vector<std::size_t>& ends() const { return ends_; }
  std::size_t allocations() const { return log_.size(); }
  const IterationFinder& finder() const { return finder_; }

 private:
  void compare() {
    const Iteration& last = finder_.last();
    found_.push_back(last.size());
    ends_.push_back(log_.size());
    ASSERT_LE(last.size(), log_.size());
    const std::size_t begin = log_.size() - last.size();
    for (std::size_t i = 0; i < last.size(); ++i) {
      IterationBlock expected = log_[begin + i];
      if (expected.dies != IterationBlock::never)
        expected.dies -= static_cast<std::uint32_t>(begin);
      ASSERT_EQ(last[i], expected) << "block " << i << " of " << last.size();
    }
  }

  IterationFinder finder_;
  Iteration log_;  // With times of death since the beginning.
  std::vector<std::size_t> found_;
  std::vector<std::size_t> ends_;
};

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

// What the first step leaves behind raises the level for good.
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

// After each micro-batch but the last the gradients stay. What is found is a micro-batch or the
// whole step, never something between.
TEST(IterationFinder, micro_batches_repeat_as_well_as_steps) {
  Program program;
  load_weights(program, 12);
  for (int i = 0; i < 6; ++i) train(program, {.micro_batches = 4});
  ASSERT_GE(program.found().size(), 5U);
  for (const std::size_t blocks : program.found())
    EXPECT_TRUE(blocks == 48 || blocks == 60 + 3 * 48) << blocks;
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

// Whatever the program does: what is found is what was asked for (compared by Program).
TEST(IterationFinder, what_is_found_is_what_was_asked_for) {
  for (std::uint32_t seed = 1; seed <= 60; ++seed) {
    Random random(seed);
    Program program;
    std::vector<std::size_t> live;
    const int steps = 40;
    for (int i = 0; i < steps; ++i) {
      if (random() % 8 == 0) live.push_back(program.allocate((1 + random() % 4096) * 512));
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
