// SPDX-License-Identifier: Apache-2.0
// A step as the planner describes it (estimate/headroom_engine.h), and the same step as the trainer
// really does it: what each takes.
#pragma once

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "allocator/models/make_policy.h"
#include "estimate/headroom_engine.h"
#include "estimate/step.h"
#include "trainer/gradient_norm.h"
#include "trainer/host_domain.h"
#include "trainer/model.h"
#include "trainer/optimizer_settings.h"
#include "trainer/step.h"
#include "trainer/testing/plain_memory.h"
#include "trainer/testing/tiny_models.h"
#include "trainer/torch_memory.h"

namespace headroom::trainer::testing {

using allocator::Usage;
using estimate::Attention;
using estimate::Checkpointing;
using estimate::DType;
using estimate::Job;
using estimate::Loss;
using estimate::MethodKind;
using estimate::OptimizerKind;

inline at::ScalarType scalar_type(DType dtype) {
  return dtype == DType::bf16 ? at::kBFloat16 : at::kFloat;
}

inline ModelOptions options_of(const Job& job) {
  ModelOptions options;
  options.dtype = scalar_type(job.compute.dtype);
  options.attention = *job.compute.attention;
  options.checkpointing = job.compute.checkpointing;
  options.loss = job.compute.loss;
  options.longest = static_cast<std::int64_t>(job.batch.sequence);
  if (job.method.kind == MethodKind::qlora) options.quantised = job.method.base;
  if (job.method.kind != MethodKind::full) {
    options.lora =
        LoraOptions{static_cast<std::int64_t>(job.method.rank), job.method.alpha,
                    job.method.dropout, job.method.targets, scalar_type(job.method.adapter_dtype)};
  }
  return options;
}

// What a step took of the device, and of host memory where the job offloads anything.
struct Taken {
  Usage device;
  Usage host;
};

// Two optimizer steps on random tokens, all samples of the full length; or on samples of these
// lengths end to end.
inline Taken measure_both(const Job& job, const estimate::ModelConfig& config,
                          const std::optional<std::vector<std::size_t>>& packed = std::nullopt) {
  PlainMemory memory;
  HostDomain host(std::make_unique<PlainMemory>(), Bytes{0});
  {
    const TorchMemory hook(memory);
    ModelOptions options = options_of(job);
    if (job.compute.activation_offloading) options.activations_host = &host;
    Model model(config, options);
    model.initialise_base(1);
    model.initialise_adapters(1);
    const auto optimizer =
        make_optimizer(model.trainable(), make_optimizer_settings(job.optimizer),
                       {.masters = job.optimizer.master == estimate::Master::fp32,
                        .host = job.optimizer.offload ? &host : nullptr});
    const std::vector<std::size_t> lengths(*job.batch.micro, job.batch.sequence);
    for (int step = 0; step < 2; ++step) {
      for (std::uint64_t i = 0; i < *job.batch.accumulate; ++i) {
        const auto samples = testing::random_samples(packed.value_or(lengths), config.vocabulary);
        train_micro_batch(model, packed ? testing::lay_end_to_end(samples) : testing::pad(samples),
                          0.01, i);
      }
      gradient_norm(model.trainable());
      optimizer->step();
    }
  }
  return {memory.usage(), host.usage()};
}

inline Usage measure(const Job& job, const estimate::ModelConfig& config,
                     const std::optional<std::vector<std::size_t>>& packed = std::nullopt) {
  return measure_both(job, config, packed).device;
}

// The same of one stage of a model that is split, as trainer/ranks/pipeline.cpp runs it; what
// neighbours send is random.
inline Usage measure(const Job& job, const estimate::ModelConfig& config,
                     const estimate::StagePart& part) {
  PlainMemory memory;
  {
    const TorchMemory hook(memory);
    ModelOptions options = options_of(job);
    options.part = part;
    Model model(config, options);
    model.initialise_base(1);
    model.initialise_adapters(1);
    const auto optimizer =
        make_optimizer(model.trainable(), make_optimizer_settings(job.optimizer));
    const std::vector<std::size_t> lengths(*job.batch.micro, job.batch.sequence);
    const auto received = [&](bool any) -> at::Tensor {
      const TagScope scope(allocator::Component::activations);
      if (!any) return {};
      return at::rand({static_cast<std::int64_t>(*job.batch.micro * job.batch.sequence),
                       static_cast<std::int64_t>(config.hidden)},
                      options.dtype);
    };
    for (int step = 0; step < 2; ++step) {
      std::deque<StageRun> in_flight;
      for (const auto& [pass, number] :
           estimate::one_forward_one_backward(part.stage, part.stages, *job.batch.accumulate)) {
        if (pass == estimate::StagePass::forward) {
          MicroBatch batch = testing::pad(testing::random_samples(lengths, config.vocabulary));
          in_flight.emplace_back(model, std::move(batch), 0.01, number);
          in_flight.back().forward(received(!part.is_first()));
        } else {
          in_flight.front().backward(received(!part.is_last()));
          in_flight.pop_front();
        }
      }
      gradient_norm(model.trainable());
      optimizer->step();
    }
  }
  return memory.usage();
}

inline Usage predict(const Job& job, const estimate::ModelConfig& config) {
  const auto policy = allocator::make_policy("exact");
  return estimate::replay(estimate::record_headroom(job, config, 2), **policy).usage;
}

inline void expect_agreement(const Usage& measured, const Usage& predicted,
                             const std::string& what) {
  const auto close = [&](std::uint64_t a, std::uint64_t b, double tolerance) {
    return std::abs(static_cast<double>(a) - static_cast<double>(b)) <=
           tolerance * static_cast<double>(measured.live_peak_bytes);
  };
  EXPECT_TRUE(close(predicted.live_peak_bytes, measured.live_peak_bytes, 0.01))
      << what << ": predicted " << predicted.live_peak_bytes << ", measured "
      << measured.live_peak_bytes;
  for (const auto component : allocator::all_components) {
    EXPECT_TRUE(close(predicted.live_at_peak[component], measured.live_at_peak[component], 0.02))
        << what << ": " << to_string(component) << " predicted "
        << predicted.live_at_peak[component] << ", measured " << measured.live_at_peak[component];
  }
}

inline void expect_agreement(const Job& job, const estimate::ModelConfig& config,
                             const std::string& what) {
  const Taken measured = measure_both(job, config);
  expect_agreement(measured.device, predict(job, config), what);
  const estimate::HostPeak host = estimate::record_headroom(job, config, 2).host;
  EXPECT_EQ(host.bytes, measured.host.live_peak_bytes) << what;
  EXPECT_EQ(host.components, measured.host.live_at_peak) << what;
}

inline Job base_job() {
  Job job;
  job.engine.kind = estimate::EngineKind::headroom;
  job.compute.dtype = DType::fp32;
  job.method.base = estimate::WeightFormat::fp32;
  job.compute.attention = Attention::efficient;
  job.batch.micro = 3;
  job.batch.sequence = 200;
  return job;
}

inline estimate::ModelConfig small_config(bool tied, bool bias) {
  estimate::ModelConfig config;
  config.family = bias ? "qwen2" : "llama";
  config.hidden = 96;
  config.intermediate = 256;
  config.layers = 3;
  config.heads = 6;
  config.kv_heads = 2;
  config.head_dim = 16;
  config.vocabulary = 500;
  config.tied = tied;
  config.qkv_bias = bias;
  return config;
}

}  // namespace headroom::trainer::testing
