// SPDX-License-Identifier: Apache-2.0
// The planner's description of a step (estimate/headroom_engine.cpp) against what the trainer
// really allocates. Where one of the two changes, this test says so.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <deque>

#include "allocator/models/make_policy.h"
#include "estimate/headroom_engine.h"
#include "estimate/step.h"
#include "trainer/optimizer_settings.h"
#include "trainer/testing/plain_memory.h"
#include "trainer/testing/tiny_models.h"
#include "trainer/torch_memory.h"

namespace headroom::trainer {
namespace {

using allocator::Usage;
using estimate::Attention;
using estimate::Checkpointing;
using estimate::DType;
using estimate::Job;
using estimate::Loss;
using estimate::MethodKind;
using estimate::OptimizerKind;
using testing::PlainMemory;

at::ScalarType scalar_type(DType dtype) {
  return dtype == DType::bf16 ? at::kBFloat16 : at::kFloat;
}

ModelOptions options_of(const Job& job) {
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

// Two optimizer steps on random tokens, all samples of the full length.
Usage measure(const Job& job, const estimate::ModelConfig& config) {
  PlainMemory memory;
  {
    const TorchMemory hook(memory);
    Model model(config, options_of(job));
    model.initialise_base(1);
    model.initialise_adapters(1);
    const auto optimizer =
        make_optimizer(model.trainable(), make_optimizer_settings(job.optimizer));
    const std::vector<std::size_t> lengths(*job.batch.micro, job.batch.sequence);
    for (int step = 0; step < 2; ++step) {
      for (std::uint64_t i = 0; i < *job.batch.accumulate; ++i) {
        train_micro_batch(model, testing::pad(testing::random_samples(lengths, config.vocabulary)),
                          0.01, i);
      }
      optimizer->step();
    }
  }
  return memory.usage();
}

// The same of one stage of a model that is split, as trainer/ranks/pipeline.cpp runs it; what
// neighbours send is random.
Usage measure(const Job& job, const estimate::ModelConfig& config,
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
      optimizer->step();
    }
  }
  return memory.usage();
}

Usage predict(const Job& job, const estimate::ModelConfig& config) {
  const auto policy = allocator::make_policy("exact");
  return estimate::replay(estimate::record_headroom(job, config, 2), **policy).usage;
}

void expect_agreement(const Usage& measured, const Usage& predicted, const std::string& what) {
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

void expect_agreement(const Job& job, const estimate::ModelConfig& config,
                      const std::string& what) {
  expect_agreement(measure(job, config), predict(job, config), what);
}

Job base_job() {
  Job job;
  job.engine.kind = estimate::EngineKind::headroom;
  job.compute.dtype = DType::fp32;
  job.method.base = estimate::WeightFormat::fp32;
  job.compute.attention = Attention::efficient;
  job.batch.micro = 3;
  job.batch.sequence = 200;
  return job;
}

estimate::ModelConfig small_config(bool tied, bool bias) {
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

TEST(Prediction, full_fine_tuning_with_every_kernel) {
  for (const auto attention : {Attention::efficient, Attention::math}) {
    for (const auto loss : {Loss::eager, Loss::chunked}) {
      for (const auto checkpointing : {Checkpointing::none, Checkpointing::layer}) {
        Job job = base_job();
        job.compute.attention = attention;
        job.compute.loss = loss;
        job.compute.checkpointing = checkpointing;
        expect_agreement(job, small_config(true, false),
                         fmt::format("{}, {}, {}", to_string(attention), to_string(loss),
                                     to_string(checkpointing)));
      }
    }
  }
}

TEST(Prediction, untied_head_biases_and_accumulation) {
  Job job = base_job();
  job.batch.accumulate = 3;
  expect_agreement(job, small_config(false, true), "untied, bias, accumulated");
}

TEST(Prediction, lora_with_and_without_dropout_and_checkpointing) {
  for (const double dropout : {0.0, 0.1}) {
    for (const auto checkpointing : {Checkpointing::none, Checkpointing::layer}) {
      Job job = base_job();
      job.method.kind = MethodKind::lora;
      job.method.dropout = dropout;
      job.compute.checkpointing = checkpointing;
      expect_agreement(job, small_config(true, true),
                       fmt::format("lora, dropout {}, {}", dropout, to_string(checkpointing)));
    }
  }
}

TEST(Prediction, lora_on_some_projections) {
  Job job = base_job();
  job.method.kind = MethodKind::lora;
  job.method.targets = {estimate::Target::q, estimate::Target::v};
  expect_agreement(job, small_config(false, false), "lora on q and v");
}

TEST(Prediction, bf16_with_fp32_adapters) {
  for (const auto kind : {MethodKind::full, MethodKind::lora}) {
    for (const auto attention : {Attention::efficient, Attention::math}) {
      Job job = base_job();
      job.compute.dtype = DType::bf16;
      job.compute.attention = attention;
      job.method.kind = kind;
      expect_agreement(job, small_config(true, false),
                       fmt::format("bf16 {} {}", to_string(kind), to_string(attention)));
    }
  }
}

TEST(Prediction, normalised_heads_and_windows) {
  estimate::ModelConfig config = small_config(true, true);
  config.qk_norm = true;
  config.windows = {0, 64, 150};
  for (const auto kind : {MethodKind::full, MethodKind::lora}) {
    for (const auto attention : {Attention::efficient, Attention::math}) {
      for (const auto dtype : {DType::fp32, DType::bf16}) {
        for (const auto checkpointing : {Checkpointing::none, Checkpointing::layer}) {
          Job job = base_job();
          job.compute.dtype = dtype;
          job.compute.attention = attention;
          job.compute.checkpointing = checkpointing;
          job.method.kind = kind;
          expect_agreement(job, config,
                           fmt::format("qk norm {} {} {} {}", to_string(kind), to_string(attention),
                                       to_string(dtype), to_string(checkpointing)));
        }
      }
    }
  }
}

TEST(Prediction, fused_projections) {
  estimate::ModelConfig config = small_config(false, false);
  config.fused = true;
  expect_agreement(base_job(), config, "fused");
}

TEST(Prediction, a_quantised_base) {
  estimate::ModelConfig fused = small_config(false, false);
  fused.fused = true;
  for (const auto& config : {small_config(true, true), fused}) {
    for (const auto base : {estimate::WeightFormat::nf4_dq, estimate::WeightFormat::int8}) {
      for (const auto dtype : {DType::fp32, DType::bf16}) {
        Job job = base_job();
        job.compute.dtype = dtype;
        job.method = {.kind = MethodKind::qlora, .base = base};
        if (config.fused) job.method.targets = {estimate::Target::o, estimate::Target::down};
        expect_agreement(job, config, fmt::format("{} {}", to_string(base), to_string(dtype)));
      }
    }
  }
}

TEST(Prediction, gpt2) {
  estimate::ModelConfig config = small_config(true, true);
  config.family = "gpt2";
  config.o_bias = config.mlp_bias = true;
  config.kv_heads = config.heads;
  config.position_rows = 320;
  for (const auto kind : {MethodKind::full, MethodKind::lora}) {
    for (const auto attention : {Attention::efficient, Attention::math}) {
      for (const auto dtype : {DType::fp32, DType::bf16}) {
        for (const auto checkpointing : {Checkpointing::none, Checkpointing::layer}) {
          Job job = base_job();
          job.compute.dtype = dtype;
          job.compute.attention = attention;
          job.compute.checkpointing = checkpointing;
          job.compute.loss = checkpointing == Checkpointing::none ? Loss::eager : Loss::chunked;
          job.method.kind = kind;
          job.batch.accumulate = 2;
          expect_agreement(job, config,
                           fmt::format("gpt2 {} {} {} {}", to_string(kind), to_string(attention),
                                       to_string(dtype), to_string(checkpointing)));
        }
      }
    }
  }
}

estimate::ModelConfig gemma2_config() {
  estimate::ModelConfig config = small_config(true, false);
  config.family = "gemma2";
  config.gemma = config.norms_around = true;
  config.windows = {64, 0, 64};
  config.query_scalar = 24;
  config.score_cap = 50;
  config.logit_cap = 30;
  return config;
}

TEST(Prediction, gemma2) {
  for (const auto kind : {MethodKind::full, MethodKind::lora}) {
    for (const auto attention : {Attention::efficient, Attention::math}) {
      for (const auto dtype : {DType::fp32, DType::bf16}) {
        for (const auto checkpointing : {Checkpointing::none, Checkpointing::layer}) {
          Job job = base_job();
          job.compute.dtype = dtype;
          job.compute.attention = attention;
          job.compute.checkpointing = checkpointing;
          job.compute.loss = checkpointing == Checkpointing::none ? Loss::eager : Loss::chunked;
          job.method.kind = kind;
          job.batch.accumulate = 2;
          expect_agreement(job, gemma2_config(),
                           fmt::format("gemma2 {} {} {} {}", to_string(kind), to_string(attention),
                                       to_string(dtype), to_string(checkpointing)));
        }
      }
    }
  }
}

TEST(Prediction, wide_model_and_long_sequence) {
  Job job = base_job();
  job.batch.micro = 2;
  job.batch.sequence = 700;
  estimate::ModelConfig config = small_config(true, false);
  config.hidden = 192;
  config.head_dim = 32;
  config.intermediate = 700;
  config.vocabulary = 3000;
  expect_agreement(job, config, "wide and long");
}

// What a step of theirs needs shows where little else is live: short samples of a wide model.
void expect_optimizers(const estimate::ModelConfig& config) {
  for (const auto& [kind, momentum] : {std::pair{OptimizerKind::adamw, 0.0},
                                       {OptimizerKind::sgd, 0.0},
                                       {OptimizerKind::sgd, 0.9},
                                       {OptimizerKind::adafactor, 0.0}}) {
    for (const auto dtype : {DType::fp32, DType::bf16}) {
      for (const auto method : {MethodKind::full, MethodKind::lora}) {
        Job job = base_job();
        job.batch.micro = 1;
        job.batch.sequence = 16;
        job.compute.dtype = dtype;
        job.compute.loss = Loss::chunked;
        job.method.kind = method;
        job.optimizer.kind = kind;
        job.optimizer.momentum = momentum;
        expect_agreement(job, config,
                         fmt::format("{} {} {} {} {}", config.family, to_string(kind), momentum,
                                     to_string(dtype), to_string(method)));
      }
    }
  }
}

TEST(Prediction, optimizers) {
  estimate::ModelConfig config = small_config(false, true);
  config.vocabulary = 5000;
  expect_optimizers(config);
  config.family = "gpt2";
  config.kv_heads = config.heads;
  config.position_rows = 32;
  expect_optimizers(config);
}

TEST(Prediction, stages_of_a_split_model) {
  estimate::ModelConfig gpt2 = small_config(true, true);
  gpt2.family = "gpt2";
  gpt2.o_bias = gpt2.mlp_bias = true;
  gpt2.kv_heads = gpt2.heads;
  gpt2.position_rows = 320;
  for (const auto& config :
       {small_config(false, true), small_config(true, false), gpt2, gemma2_config()}) {
    for (const auto kind : {MethodKind::full, MethodKind::lora}) {
      for (const auto checkpointing : {Checkpointing::none, Checkpointing::layer}) {
        for (const std::uint64_t accumulate : {1U, 2U, 7U}) {
          Job job = base_job();
          job.method.kind = kind;
          job.compute.checkpointing = checkpointing;
          job.batch.accumulate = accumulate;
          for (std::uint32_t stage = 0; stage < 3; ++stage) {
            const estimate::StagePart part{stage, 3, stage, stage + std::uint64_t{1}};
            const auto policy = allocator::make_policy("exact");
            expect_agreement(
                measure(job, config, part),
                estimate::replay(estimate::record_headroom(job, config, 2, part), **policy).usage,
                fmt::format("{} {} {} {} stage {}", config.family, to_string(kind),
                            to_string(checkpointing), accumulate, stage));
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace headroom::trainer
