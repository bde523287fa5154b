// SPDX-License-Identifier: Apache-2.0
#include "trainer/torch_memory.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "trainer/adamw.h"
#include "trainer/testing/plain_memory.h"
#include "trainer/testing/tiny_models.h"

namespace headroom::trainer {
namespace {

using allocator::Component;
using estimate::Checkpointing;
using testing::fp64_lora;
using testing::fp64_options;
using testing::pad;
using testing::PlainMemory;
using testing::random_model;
using testing::random_samples;
using testing::tiny_config;

TEST(TorchMemory, tensors_carry_the_tag_of_the_innermost_scope) {
  PlainMemory policy;
  const TorchMemory memory(policy);
  const at::Tensor other = at::empty({128});
  const TagScope outer(Component::weights);
  const at::Tensor weights = at::empty({256});
  {
    const TagScope inner(Component::logits);
    const at::Tensor logits = at::empty({384});
    EXPECT_EQ(memory.usage().live[Component::logits], 1536U);
  }
  const at::Tensor again = at::empty({128});
  EXPECT_EQ(memory.usage().live[Component::weights], 1536U);
  EXPECT_EQ(memory.usage().live[Component::logits], 0U);
  EXPECT_EQ(memory.usage().live[Component::other], 512U);
  EXPECT_EQ(memory.peak_by_component()[Component::logits], 1536U);
  EXPECT_EQ(memory.live_blocks(), 3U);
}

TEST(TorchMemory, what_was_there_before_stays_usable_and_comes_back) {
  const at::Tensor before = at::ones({64});
  PlainMemory policy;
  {
    const TorchMemory memory(policy);
    const at::Tensor sum = before + before;
    EXPECT_EQ(memory.live_blocks(), 1U);
    EXPECT_EQ(sum.sum().item<float>(), 128);
  }
  const at::Tensor after = at::ones({64});
  EXPECT_EQ(policy.usage().live_bytes, 0U);
}

TEST(TorchMemory, empty_tensors_take_nothing) {
  PlainMemory policy;
  const TorchMemory memory(policy);
  const at::Tensor empty = at::empty({0, 7});
  EXPECT_EQ(memory.live_blocks(), 0U);
}

TEST(TorchMemory, tensors_may_be_freed_by_another_thread) {
  PlainMemory policy;
  const TorchMemory memory(policy);
  at::Tensor tensor = at::empty({1000});
  std::thread([moved = std::move(tensor)]() mutable { moved.reset(); }).join();
  EXPECT_EQ(memory.live_blocks(), 0U);
}

TEST(TorchMemory, a_refusal_throws_and_tells_what_was_live) {
  PlainMemory policy(8_KiB);
  TorchMemory memory(policy);
  const TagScope scope(Component::weights);
  const at::Tensor weights = at::empty({1024});
  {
    const TagScope inner(Component::activations);
    EXPECT_ANY_THROW(at::empty({2048}));
  }
  const auto refused = memory.take_refused();
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->request.bytes, 8192U);
  EXPECT_EQ(refused->request.tag, Component::activations);
  EXPECT_EQ(refused->usage.live[Component::weights], 4096U);
  EXPECT_THAT(to_text(*refused), ::testing::HasSubstr("weights"));
  EXPECT_FALSE(memory.take_refused());
  EXPECT_EQ(weights.numel(), 1024);
}

struct StepTrace {
  std::vector<std::string> events;
  allocator::ByComponent live;  // After the step.
};

// What each of three optimizer steps over two micro-batches allocates.
std::vector<StepTrace> trace_steps(const ModelOptions& options) {
  PlainMemory policy;
  const TorchMemory memory(policy);
  const auto model = random_model(tiny_config(), options);
  const auto samples = random_samples({9, 5, 14, 2}, tiny_config().vocabulary);
  AdamW optimizer(model->trainable(), {});
  std::vector<StepTrace> steps;
  for (int step = 0; step < 3; ++step) {
    policy.take_events();
    for (int micro = 0; micro < 2; ++micro) train_micro_batch(*model, pad(samples), 0.1, 1);
    optimizer.step();
    steps.push_back({policy.take_events(), memory.usage().live});
  }
  return steps;
}

TEST(StepMemory, every_step_allocates_the_same_in_the_same_order_and_leaves_nothing_behind) {
  for (const bool lora : {false, true}) {
    for (const Checkpointing checkpointing :
         {Checkpointing::none, Checkpointing::selective, Checkpointing::layer}) {
      ModelOptions options = fp64_options();
      options.checkpointing = checkpointing;
      if (lora) options.lora = fp64_lora();
      const auto steps = trace_steps(options);
      EXPECT_GT(steps[1].events.size(), 100U);
      EXPECT_EQ(steps[1].events, steps[2].events);
      EXPECT_EQ(trace_steps(options)[0].events, steps[0].events);
      for (const StepTrace& step : steps) {
        for (const Component gone : {Component::gradients, Component::activations,
                                     Component::logits, Component::workspace}) {
          EXPECT_EQ(step.live[gone], 0U) << to_string(gone);
        }
        EXPECT_EQ(step.live, steps[0].live);
      }
    }
  }
}

TEST(StepMemory, checkpointing_and_adapters_shrink_the_peak) {
  const auto peak = [](const ModelOptions& options) {
    PlainMemory policy;
    const TorchMemory memory(policy);
    estimate::ModelConfig config = tiny_config();
    config.layers = 6;
    const auto model = random_model(config, options);
    const auto samples = random_samples({200, 200}, config.vocabulary);
    train_micro_batch(*model, pad(samples), 0.1, 1);
    return memory.usage().live_peak_bytes;
  };
  ModelOptions options = fp64_options();
  const std::uint64_t everything = peak(options);
  // Of 6 H + 3 I that a layer keeps for every token, 2 H + I are made again.
  options.checkpointing = Checkpointing::selective;
  EXPECT_LT(peak(options), everything * 5 / 6);
  options.checkpointing = Checkpointing::layer;
  EXPECT_LT(peak(options), everything / 2);
  options.checkpointing = Checkpointing::none;
  options.attention = estimate::Attention::math;
  EXPECT_GT(peak(options), 2 * everything);
}

}  // namespace
}  // namespace headroom::trainer
