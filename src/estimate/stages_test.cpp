// SPDX-License-Identifier: Apache-2.0
// Layers are shared out so that the largest stage is as small as it can be, and a plan has what
// each stage needs.
#include "estimate/stages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "allocator/models/make_policy.h"
#include "estimate/headroom_engine.h"
#include "estimate/plan.h"

namespace headroom::estimate {
namespace {

using ::testing::HasSubstr;

ModelConfig config_of(std::uint64_t layers, std::uint64_t vocabulary, bool tied) {
  ModelConfig config;
  config.family = "qwen2";
  config.hidden = 64;
  config.intermediate = 128;
  config.layers = layers;
  config.heads = config.kv_heads = 4;
  config.head_dim = 16;
  config.vocabulary = vocabulary;
  config.tied = tied;
  config.qkv_bias = true;
  return config;
}

Job job_of(std::uint64_t stages, std::uint64_t accumulate) {
  Job job;
  job.engine.kind = EngineKind::headroom;
  job.engine.stages = stages;
  job.device.allocator = "headroom";
  job.compute.dtype = job.compute.residual = job.compute.embeddings = DType::fp32;
  job.method.base = WeightFormat::fp32;
  job.compute.attention = Attention::efficient;
  job.batch.micro = 2;
  job.batch.sequence = 64;
  job.batch.accumulate = accumulate;
  return job;
}

std::uint64_t peak_of(const Job& job, const ModelConfig& model, const StagePart& part) {
  const auto policy = allocator::make_policy("exact");
  return replay(record_headroom(job, model, 2, part), **policy).usage.live_peak_bytes;
}

std::uint64_t largest_of(const Job& job, const ModelConfig& model,
                         const std::vector<StagePart>& parts) {
  std::uint64_t largest = 0;
  for (const StagePart& part : parts) largest = std::max(largest, peak_of(job, model, part));
  return largest;
}

TEST(AssignLayers, every_layer_is_on_one_stage_in_order) {
  for (const std::uint64_t stages : {2U, 3U, 5U}) {
    const auto parts = assign_layers(job_of(stages, 4), config_of(7, 300, false));
    ASSERT_TRUE(parts) << parts.error().message;
    ASSERT_EQ(parts->size(), stages);
    std::uint64_t next = 0;
    for (const StagePart& part : *parts) {
      EXPECT_EQ(part.first_layer, next);
      EXPECT_GE(part.layers(), 1U);
      next = part.last_layer;
    }
    EXPECT_EQ(next, 7U);
    EXPECT_TRUE(parts->front().is_first() && parts->back().is_last());
  }
}

// Against every way to share them out.
TEST(AssignLayers, no_other_split_has_a_smaller_largest_stage) {
  for (const std::uint64_t vocabulary : {50U, 3000U}) {
    for (const bool tied : {false, true}) {
      for (const std::uint64_t accumulate : {1U, 6U}) {
        const ModelConfig model = config_of(6, vocabulary, tied);
        const Job job = job_of(3, accumulate);
        const auto parts = assign_layers(job, model);
        ASSERT_TRUE(parts);
        std::uint64_t best = UINT64_MAX;
        for (std::uint64_t first = 1; first <= 4; ++first) {
          for (std::uint64_t second = first + 1; second <= 5; ++second)
            best = std::min(
                best, largest_of(job, model,
                                 {{0, 3, 0, first}, {1, 3, first, second}, {2, 3, second, 6}}));
        }
        // Sizes are rounded to the allocator's blocks when layers are shared out.
        EXPECT_LE(static_cast<double>(largest_of(job, model, *parts)),
                  1.002 * static_cast<double>(best));
      }
    }
  }
}

TEST(AssignLayers, a_stage_without_a_layer_is_refused) {
  const auto parts = assign_layers(job_of(4, 1), config_of(3, 50, false));
  ASSERT_FALSE(parts);
  EXPECT_THAT(parts.error().message, HasSubstr("expected at most 3"));
  EXPECT_THAT(parts.error().next, HasSubstr("stages = 3"));
}

TEST(PlanStages, earlier_stages_hold_more_micro_batches_between_their_passes) {
  const ModelConfig model = config_of(6, 50, false);
  const StagePart first{0, 3, 0, 2};
  EXPECT_GT(peak_of(job_of(3, 6), model, first), peak_of(job_of(3, 1), model, first));
  EXPECT_EQ(peak_of(job_of(3, 6), model, first), peak_of(job_of(3, 60), model, first));
}

TEST(PlanStages, the_plan_is_that_of_the_stage_that_needs_most) {
  const ModelConfig model = config_of(6, 900, true);
  Job job = job_of(2, 4);
  job.device.capacity = Bytes{64} * 1048576;
  Device device;
  device.capacity = job.device.capacity;
  device.attention = Attention::efficient;
  const auto plan = make_plan(job, architecture_of(model), device);
  ASSERT_TRUE(plan) << plan.error().message;
  ASSERT_EQ(plan->stages.size(), 2U);
  EXPECT_EQ(plan->allocated_bytes,
            std::max(plan->stages[0].allocated_bytes, plan->stages[1].allocated_bytes));
  EXPECT_EQ(plan->parameters, model.parameters());
  // The tied head is on both.
  EXPECT_EQ(plan->stages[0].parameters + plan->stages[1].parameters,
            model.parameters() + model.vocabulary * model.hidden);
  EXPECT_EQ(plan->fits, true);
  Job alone = job;
  alone.engine.stages = 1;
  const auto whole = make_plan(alone, architecture_of(model), device);
  ASSERT_TRUE(whole);
  EXPECT_LT(plan->allocated_bytes, whole->allocated_bytes);
  EXPECT_TRUE(whole->stages.empty());
}

TEST(PlanStages, a_stage_that_does_not_fit_is_a_job_that_does_not_fit) {
  const ModelConfig model = config_of(6, 900, false);
  Job job = job_of(2, 4);
  Device device;
  device.attention = Attention::efficient;
  const auto free = make_plan(job, architecture_of(model), device);
  ASSERT_TRUE(free);
  device.capacity = Bytes{free->allocated_bytes * 9 / 10};
  const auto plan = make_plan(job, architecture_of(model), device);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->fits, false);
}

}  // namespace
}  // namespace headroom::estimate
