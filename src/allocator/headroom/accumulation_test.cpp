// SPDX-License-Identifier: Apache-2.0
// A job that accumulates gradients rises and falls several times per optimizer step. What is
// planned has to be the whole step: the micro-batches differ, and the optimizer is part of none.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "allocator/headroom/headroom_allocator.h"
#include "allocator/plans/testing/finder_program.h"
#include "allocator/plans/testing/training_job.h"
#include "allocator/simulated_backend.h"

namespace headroom::allocator {
namespace {

using Random = std::independent_bits_engine<std::mt19937, 32, std::uint32_t>;
using Tokens = std::function<std::uint64_t(int)>;

// How many steps it takes until whole steps are found. Where gradients are freed, the level after
// the optimizer comes back; where they are kept, the optimizer has to come back among the
// micro-batches; where lengths vary, only a second time says that it is no chance.
constexpr std::size_t learning_steps = 5;

// Whether its micro-batches are all alike, and nothing is between them: each is an iteration.
bool has_no_steps(const TrainingShape& shape) {
  return shape.gradients == TrainingShape::Gradients::kept &&
         shape.optimizer == TrainingShape::Optimizer::fused;
}

class Accumulation : public testing::TestWithParam<TrainingShape> {
 protected:
  static void expect_steps(const Tokens& tokens) {
    constexpr std::size_t steps = 16;
    FinderProgram program;
    TrainingJob job(program, GetParam());
    std::size_t learned = 0;
    std::size_t blocks = 0;
    for (std::size_t step = 0; step < steps; ++step) {
      if (step == learning_steps) learned = program.found().size();
      blocks = program.allocations();
      job.step(tokens);
    }
    blocks = program.allocations() - blocks;
    std::size_t per_step = 1;
    if (has_no_steps(GetParam())) per_step = static_cast<std::size_t>(GetParam().micro_batches);
    const std::size_t known = program.found().size() - learned;
    EXPECT_GE(known, (steps - learning_steps) * per_step - 1);
    for (std::size_t i = learned; i < program.found().size(); ++i) {
      EXPECT_EQ(program.found()[i], blocks / per_step) << "iteration " << i;
      EXPECT_EQ(program.ends()[i] - program.ends()[i - 1], blocks / per_step) << "iteration " << i;
    }
  }
};

TEST_P(Accumulation, whole_steps_are_found) {
  expect_steps([](int) { return 1024; });
}

TEST_P(Accumulation, micro_batches_may_differ_in_length) {
  expect_steps([](int batch) { return 512 + static_cast<std::uint64_t>(batch) * 97 % 600; });
}

TEST_P(Accumulation, no_two_micro_batches_need_have_the_same_length) {
  Random random(5);
  expect_steps([&](int) { return 512 + random() % 600; });
}

// The memory of an allocator, and how much of it was live at the worst moment.
class Player {
 public:
  Player(std::uint64_t capacity, bool virtual_memory)
      : allocator_(std::make_unique<SimulatedBackend>(
                       SimulatedBackend::default_page_limit,
                       virtual_memory ? SimulatedBackend::assumed_capabilities()
                                      : SimulatedBackend::without_virtual_memory()),
                   capacity, {.virtual_memory = virtual_memory}) {}

  std::size_t allocate(std::uint64_t bytes) {
    const auto address = allocator_.allocate({.bytes = bytes});
    EXPECT_TRUE(address.has_value());
    return address.value_or(0);
  }
  void free(std::size_t address) { allocator_.free(address); }
  const Usage& usage() const { return allocator_.usage(); }

 private:
  HeadroomAllocator allocator_;
};

// `losses`: kept of each micro-batch for good.
void expect_quiet(const TrainingShape& shape, bool virtual_memory, const Tokens& tokens,
                  int losses = 0) {
  Player plentiful(std::uint64_t{1} << 40U, true);
  TrainingJob dry_run(plentiful, shape);
  for (int step = 0; step < 2; ++step) dry_run.step(tokens);
  const std::uint64_t peak = plentiful.usage().live_peak_bytes;

  Player player(peak + peak / 25, virtual_memory);
  TrainingJob job(player, shape);
  job.keep(losses, 0);
  const int known = losses > 0 ? 12 : 7;
  for (int step = 0; step < known; ++step) job.step(tokens);
  const std::uint64_t calls = player.usage().device_calls;
  for (int step = 0; step < 5; ++step) job.step(tokens);
  EXPECT_EQ(player.usage().device_calls, calls) << "virtual memory: " << virtual_memory;
}

// In memory that is four per cent larger than what is live.
TEST_P(Accumulation, once_the_step_is_planned_the_device_is_left_alone) {
  for (const bool virtual_memory : {false, true}) {
    expect_quiet(GetParam(), virtual_memory, [](int) { return 1024; });
    if (has_no_steps(GetParam())) continue;
    expect_quiet(GetParam(), virtual_memory,
                 [](int batch) { return 1024 - static_cast<std::uint64_t>(batch) * 97 % 600; });
  }
}

TEST_P(Accumulation, losses_that_are_kept_are_no_harm) {
  for (const bool virtual_memory : {false, true})
    expect_quiet(
        GetParam(), virtual_memory, [](int) { return 1024; }, 1);
}

INSTANTIATE_TEST_SUITE_P(Jobs, Accumulation, testing::ValuesIn(training_shapes()),
                         [](const auto& instance) { return to_string(instance.param); });

// Another number of micro-batches at the end of an epoch: what was found goes on after it.
TEST(AccumulationChanges, a_shorter_step_between_is_no_harm) {
  FinderProgram program;
  TrainingJob job(program, {.micro_batches = 4});
  for (int step = 0; step < 6; ++step) job.step(1024);
  const std::size_t blocks = program.found().back();
  job.step_of(2, [](int) { return 1024; });
  for (int step = 0; step < 4; ++step) job.step(1024);
  EXPECT_EQ(program.found().back(), blocks);
  const auto& found = program.found();
  EXPECT_EQ(found[found.size() - 2], blocks);
  EXPECT_EQ(found[found.size() - 3], blocks);
}

// However many blocks a step has, as long as a layout for it is soon made.
TEST(AccumulationChanges, long_steps_are_found_as_well) {
  for (const auto gradients : {TrainingShape::Gradients::freed, TrainingShape::Gradients::kept}) {
    FinderProgram program;
    TrainingJob job(program, {.micro_batches = 16, .gradients = gradients, .layers = 120});
    std::size_t blocks = 0;
    for (int step = 0; step < 7; ++step) {
      blocks = program.allocations();
      job.step(1024);
      blocks = program.allocations() - blocks;
    }
    ASSERT_GT(blocks, 40000U);
    ASSERT_LT(blocks, 65536U);
    EXPECT_EQ(program.found().back(), blocks);
  }
}

// Steps of varying lengths with an evaluation after every 20 of them come in the same order again
// and again, but what repeats are the steps.
TEST(AccumulationChanges, an_epoch_is_no_iteration) {
  for (const bool is_lower : {false, true}) {
    FinderProgram program;
    TrainingJob job(program, {.micro_batches = 1});
    Random random(7);
    std::size_t blocks = 0;
    for (int epoch = 0; epoch < 4; ++epoch) {
      std::vector<std::size_t> between;
      for (std::size_t i = 0; i < 60; ++i) between.push_back(program.allocate(8U << 20U));
      for (const std::size_t block : between) program.free(block);
      between.clear();
      if (is_lower) between.push_back(program.allocate(32U << 20U));
      for (int step = 0; step < 20; ++step) {
        blocks = program.allocations();
        job.step(512 + random() % 512);
        blocks = program.allocations() - blocks;
      }
      for (const std::size_t block : between) program.free(block);
    }
    const auto& found = program.found();
    EXPECT_GE(found.size(), 4U * 17U);
    EXPECT_GE(std::count(found.begin(), found.end(), blocks), 4 * 17);
    EXPECT_LE(*std::max_element(found.begin(), found.end()), 3 * blocks);
  }
}

// From some step on the job stops accumulating, or accumulates more micro-batches.
TEST(AccumulationChanges, another_number_of_micro_batches_is_found_in_a_few_steps) {
  for (const int later : {1, 2, 8, 16}) {
    FinderProgram program;
    TrainingJob job(program, {.micro_batches = 4});
    const auto tokens = [](int) -> std::uint64_t { return 1024; };
    for (int step = 0; step < 6; ++step) job.step(1024);
    std::vector<std::size_t> begins;
    for (int step = 0; step < 6; ++step) {
      begins.push_back(program.allocations());
      job.step_of(later, tokens);
    }
    EXPECT_EQ(program.found().back(), begins[5] - begins[4]) << later;
    EXPECT_EQ(program.ends().back(), begins[5]) << later;
    const auto& found = program.found();
    EXPECT_EQ(found[found.size() - 2], begins[5] - begins[4]) << later;
  }
}

}  // namespace
}  // namespace headroom::allocator
