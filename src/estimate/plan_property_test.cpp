// SPDX-License-Identifier: Apache-2.0
// What holds for every plan, tried on random small jobs: a seed gives the same jobs on every run.
#include <gtest/gtest.h>

#include <random>

#include "allocator/models/make_policy.h"
#include "estimate/model_config.h"
#include "estimate/plan.h"
#include "estimate/step.h"

namespace headroom::estimate {
namespace {

constexpr std::uint64_t device_unit = (2_MiB).value;
constexpr int rounds = 60;

struct Case {
  Job job;
  ModelConfig model;
};

class Random {
 public:
  explicit Random(std::uint32_t seed) : numbers_(seed) {}

  std::uint64_t upto(std::uint64_t max) { return numbers_() % max + 1; }
  template <class T>
  T one_of(std::initializer_list<T> choices) {
    return *(choices.begin() + numbers_() % choices.size());
  }
  bool coin() { return numbers_() % 2 == 0; }

 private:
  std::mt19937 numbers_;
};

ModelConfig random_model(Random& random) {
  ModelConfig model;
  model.family = random.one_of({"llama", "mistral", "qwen2"});
  model.kv_heads = random.upto(3);
  model.heads = model.kv_heads * random.upto(4);
  model.head_dim = 2 * random.upto(16);
  model.hidden = random.upto(96);
  model.intermediate = random.upto(200);
  model.layers = random.upto(4);
  model.vocabulary = random.upto(700);
  model.tied = random.coin();
  model.qkv_bias = random.coin();
  model.o_bias = random.coin();
  model.mlp_bias = random.coin();
  return model;
}

Job random_job(Random& random) {
  Job job;
  job.engine.kind = random.one_of({EngineKind::headroom, EngineKind::transformers});
  const bool ours = job.engine.kind == EngineKind::headroom;
  job.device.allocator =
      random.one_of<const char*>({"headroom", "torch", "torch-expandable", "exact"});
  job.compute.dtype = random.one_of({DType::fp32, DType::bf16, DType::fp16});
  job.method.base = format_of(job.compute.dtype);
  job.compute.residual = job.compute.embeddings = job.compute.dtype;
  job.compute.attention =
      ours ? random.one_of({Attention::math, Attention::efficient})
           : random.one_of({Attention::math, Attention::eager, Attention::efficient,
                            Attention::flash, Attention::sdpa_mask});
  job.compute.checkpointing = random.one_of({Checkpointing::none, Checkpointing::layer});
  job.compute.loss = ours && random.coin() ? Loss::chunked : Loss::eager;
  job.compute.keep_outputs = random.coin();
  job.method.kind = random.one_of({MethodKind::full, MethodKind::lora});
  job.method.rank = random.upto(16);
  job.method.dropout = random.coin() ? 0.1 : 0.0;
  if (random.coin()) job.method.targets = {Target::q, Target::down};
  job.optimizer.foreach = random.coin();
  job.batch.micro = random.upto(6);
  job.batch.sequence = random.upto(300);
  job.batch.accumulate = random.upto(3);
  return job;
}

Case random_case(Random& random) {
  return {random_job(random), random_model(random)};
}

// For the reader of a failure.
std::string describe(const Case& given) {
  const Job& job = given.job;
  return std::string(to_string(job.engine.kind)) + " " + job.device.allocator + " " +
         std::string(to_string(job.method.kind)) + " " + std::string(to_string(job.compute.dtype)) +
         " " + std::string(to_string(*job.compute.attention)) + " checkpointing " +
         std::string(to_string(job.compute.checkpointing)) + " loss " +
         std::string(to_string(job.compute.loss)) + " micro " + std::to_string(*job.batch.micro) +
         " sequence " + std::to_string(job.batch.sequence) + " hidden " +
         std::to_string(given.model.hidden) + " vocabulary " +
         std::to_string(given.model.vocabulary);
}

Plan plan_of(const Case& given, std::optional<std::uint64_t> capacity = std::nullopt) {
  Device device;
  if (capacity) device.capacity = Bytes{*capacity};
  auto plan = make_plan(given.job, architecture_of(given.model), device);
  EXPECT_TRUE(plan.has_value()) << describe(given) << ": " << plan.error().message;
  return plan ? *std::move(plan) : Plan{};
}

// Bytes of the component live at once, at most, over the whole step.
std::uint64_t largest_live(const Case& given, Component component) {
  const auto recording = record_step(given.job, architecture_of(given.model), Device{});
  EXPECT_TRUE(recording.has_value());
  std::vector<std::uint64_t> live(allocator::component_count);
  std::vector<Component> of(recording->tensors.size());
  std::uint64_t most = 0;
  for (const Event& event : recording->events) {
    const std::uint64_t bytes = recording->tensors[event.tensor].meta.bytes();
    if (event.kind != Event::Kind::allocate)
      live[static_cast<std::size_t>(of[event.tensor])] -= bytes;
    if (event.kind == Event::Kind::release) continue;
    of[event.tensor] = event.component;
    live[static_cast<std::size_t>(event.component)] += bytes;
    most = std::max(most, live[static_cast<std::size_t>(component)]);
  }
  return most;
}

TEST(PlanProperty, components_add_up_and_allocated_is_at_most_reserved_is_at_most_device) {
  Random random(1);
  for (int round = 0; round < rounds; ++round) {
    const Case given = random_case(random);
    const Plan plan = plan_of(given);
    std::uint64_t sum = 0;
    for (const auto component : allocator::all_components) sum += plan.components[component];
    EXPECT_EQ(sum, plan.allocated_bytes) << describe(given);
    EXPECT_LE(plan.allocated_bytes, plan.reserved_bytes) << describe(given);
    EXPECT_LE(plan.reserved_bytes, plan.device_bytes) << describe(given);
    EXPECT_LE(plan.training_state_bytes, plan.allocated_bytes) << describe(given);
  }
}

TEST(PlanProperty, a_larger_micro_batch_never_needs_less_memory) {
  Random random(2);
  for (int round = 0; round < rounds; ++round) {
    Case given = random_case(random);
    const Plan smaller = plan_of(given);
    ++*given.job.batch.micro;
    EXPECT_GE(plan_of(given).allocated_bytes, smaller.allocated_bytes) << describe(given);
  }
}

TEST(PlanProperty, a_longer_sequence_never_needs_less_memory) {
  Random random(3);
  for (int round = 0; round < rounds; ++round) {
    Case given = random_case(random);
    const Plan shorter = plan_of(given);
    given.job.batch.sequence += random.upto(50);
    EXPECT_GE(plan_of(given).allocated_bytes, shorter.allocated_bytes) << describe(given);
  }
}

TEST(PlanProperty, checkpointing_never_saves_more_activations_once_there_are_several_layers) {
  Random random(4);
  for (int round = 0; round < rounds; ++round) {
    Case given = random_case(random);
    given.model.layers += 2;
    given.job.compute.checkpointing = Checkpointing::layer;
    const std::uint64_t with = largest_live(given, Component::activations);
    given.job.compute.checkpointing = Checkpointing::none;
    EXPECT_LE(with, largest_live(given, Component::activations)) << describe(given);
  }
}

TEST(PlanProperty, lora_never_trains_more_and_its_gradients_and_states_are_of_what_it_trains) {
  Random random(5);
  for (int round = 0; round < rounds; ++round) {
    Case given = random_case(random);
    given.job.method.kind = MethodKind::lora;
    given.job.method.adapter_dtype = given.job.compute.dtype;
    const Plan lora = plan_of(given);
    const std::uint64_t states = largest_live(given, Component::optimizer);
    EXPECT_GE(states, 2 * lora.trainable_parameters * size_of(given.job.compute.dtype))
        << describe(given);
    given.job.method.kind = MethodKind::full;
    const Plan full = plan_of(given);
    EXPECT_EQ(full.trainable_parameters, given.model.parameters());
    EXPECT_EQ(lora.parameters - lora.trainable_parameters, full.parameters) << describe(given);
    if (lora.trainable_parameters > full.trainable_parameters) continue;
    EXPECT_LE(states, largest_live(given, Component::optimizer)) << describe(given);
  }
}

TEST(PlanProperty, lora_needs_no_more_than_full_where_its_adapters_are_small) {
  Random random(6);
  for (int round = 0; round < rounds; ++round) {
    Case given = random_case(random);
    given.job.batch.sequence = random.upto(16);  // Where states, not activations, decide.
    given.job.batch.micro = 1;
    given.job.method.rank = 1;
    given.job.method.dropout = 0;
    given.job.method.adapter_dtype = given.job.compute.dtype;
    given.model.hidden = 64 + random.upto(64);
    given.model.intermediate = 128 + random.upto(128);
    given.model.head_dim = 16;
    given.job.method.kind = MethodKind::full;
    const Plan full = plan_of(given);
    given.job.method.kind = MethodKind::lora;
    EXPECT_LE(plan_of(given).allocated_bytes, full.allocated_bytes) << describe(given);
  }
}

TEST(PlanProperty, what_it_reserves_is_enough_and_less_than_what_is_live_is_not) {
  Random random(7);
  for (int round = 0; round < rounds; ++round) {
    const Case given = random_case(random);
    const Plan open = plan_of(given);
    const Plan exactly = plan_of(given, open.device_bytes);
    EXPECT_EQ(exactly.fits, true) << describe(given);
    EXPECT_EQ(exactly.reserved_bytes, open.reserved_bytes) << describe(given);
    const std::uint64_t less = open.allocated_bytes < device_unit
                                   ? open.allocated_bytes - 1
                                   : open.allocated_bytes - device_unit;
    const Plan too_little = plan_of(given, less);
    EXPECT_EQ(too_little.fits, false) << describe(given);
    EXPECT_TRUE(too_little.first_failure.has_value()) << describe(given);
    EXPECT_EQ(too_little.allocated_bytes, open.allocated_bytes)
        << "the need does not depend on the device: " << describe(given);
  }
}

TEST(PlanProperty, advice_fits_and_keeps_the_global_batch) {
  Random random(8);
  for (int round = 0; round < rounds; ++round) {
    const Case given = random_case(random);
    const std::uint64_t capacity = plan_of(given).allocated_bytes * 3 / 4;
    Device device;
    device.capacity = Bytes{capacity};
    for (const Advice& advice : plan_of(given, capacity).advice) {
      const Case changed = {apply(given.job, advice.change), given.model};
      const Plan plan = plan_of(changed, capacity);
      EXPECT_EQ(plan.fits, true) << describe(changed);
      EXPECT_EQ(plan.allocated_bytes, advice.allocated_bytes) << describe(changed);
      EXPECT_EQ(*changed.job.batch.micro * *changed.job.batch.accumulate,
                *given.job.batch.micro * *given.job.batch.accumulate);
    }
  }
}

TEST(PlanProperty, an_automatic_batch_keeps_what_was_given) {
  Random random(9);
  for (int round = 0; round < rounds; ++round) {
    Case given = random_case(random);
    const std::uint64_t capacity = 2 * plan_of(given).device_bytes;
    given.job.batch.micro.reset();
    const std::uint64_t accumulate = random.upto(4);
    if (random.coin()) given.job.batch.global = accumulate * random.upto(12);
    given.job.batch.accumulate = accumulate;
    if (given.job.batch.global && random.coin()) given.job.batch.accumulate.reset();
    const Plan plan = plan_of(given, capacity);
    if (given.job.batch.accumulate) {
      EXPECT_EQ(plan.job.batch.accumulate, accumulate);
    }
    if (given.job.batch.global) {
      EXPECT_EQ(*plan.job.batch.micro * *plan.job.batch.accumulate, *given.job.batch.global);
    }
  }
}

}  // namespace
}  // namespace headroom::estimate
