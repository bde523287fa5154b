// SPDX-License-Identifier: Apache-2.0
// The planner's description of a step (estimate/headroom_engine.cpp) against what the trainer
// really allocates. Where one of the two changes, this test says so.
#include "trainer/testing/prediction.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "allocator/models/make_policy.h"
#include "estimate/headroom_engine.h"

namespace headroom::trainer {
namespace {

using estimate::Attention;
using estimate::Checkpointing;
using estimate::DType;
using estimate::Job;
using estimate::Loss;
using estimate::MethodKind;
using estimate::OptimizerKind;
using testing::base_job;
using testing::expect_agreement;
using testing::measure;
using testing::predict;
using testing::small_config;

TEST(Prediction, full_fine_tuning_with_every_kernel) {
  for (const auto attention : {Attention::efficient, Attention::math}) {
    for (const auto loss : {Loss::eager, Loss::chunked}) {
      for (const auto checkpointing :
           {Checkpointing::none, Checkpointing::selective, Checkpointing::layer}) {
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
    for (const auto checkpointing :
         {Checkpointing::none, Checkpointing::selective, Checkpointing::layer}) {
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
        for (const auto checkpointing :
             {Checkpointing::none, Checkpointing::selective, Checkpointing::layer}) {
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

TEST(Prediction, fused_projections_and_their_adapters) {
  using enum estimate::Target;
  estimate::ModelConfig config = small_config(false, false);
  config.fused = true;
  expect_agreement(base_job(), config, "fused");
  Job job = base_job();
  job.method.kind = MethodKind::lora;
  job.batch.accumulate = 2;
  for (const auto& targets : {std::vector{q, k, v}, {gate, up}, {q, k, v, o, gate, up, down}}) {
    for (const auto dtype : {DType::fp32, DType::bf16}) {
      for (const double dropout : {0.0, 0.1}) {
        job.compute.dtype = dtype;
        job.compute.checkpointing = dropout > 0 ? Checkpointing::none : Checkpointing::layer;
        job.method.targets = targets;
        job.method.dropout = dropout;
        EXPECT_EQ(measure(job, config).live_peak_bytes, predict(job, config).live_peak_bytes);
      }
    }
  }
}

TEST(Prediction, a_quantised_base) {
  estimate::ModelConfig fused = small_config(false, false);
  fused.fused = true;
  for (const auto& config : {small_config(true, true), fused}) {
    for (const auto base : {estimate::WeightFormat::nf4_dq, estimate::WeightFormat::int8}) {
      for (const auto dtype : {DType::fp32, DType::bf16}) {
        Job job = base_job();
        job.compute.dtype = dtype;
        job.method.kind = MethodKind::qlora;
        job.method.base = base;
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
        for (const auto checkpointing :
             {Checkpointing::none, Checkpointing::selective, Checkpointing::layer}) {
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
        for (const auto checkpointing :
             {Checkpointing::none, Checkpointing::selective, Checkpointing::layer}) {
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
void expect_optimizers(const estimate::ModelConfig& config, bool offload = false,
                       estimate::Master master = estimate::Master::none) {
  for (const auto& [kind, momentum] : {std::pair{OptimizerKind::adamw, 0.0},
                                       {OptimizerKind::adamw8bit, 0.0},
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
        job.optimizer.offload = offload;
        job.optimizer.master = master;
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
  expect_optimizers(config, true);
  expect_optimizers(config, false, estimate::Master::fp32);
  expect_optimizers(config, true, estimate::Master::fp32);
  config.family = "gpt2";
  config.kv_heads = config.heads;
  config.position_rows = 32;
  expect_optimizers(config);
}

TEST(Prediction, what_is_offloaded_and_what_stays) {
  estimate::ModelConfig gpt2 = small_config(true, true);
  gpt2.family = "gpt2";
  gpt2.o_bias = gpt2.mlp_bias = true;
  gpt2.kv_heads = gpt2.heads;
  gpt2.position_rows = 320;
  estimate::ModelConfig normalised = small_config(false, true);
  normalised.qk_norm = true;
  for (const auto& config : {small_config(true, false), normalised, gpt2, gemma2_config()}) {
    for (const auto kind : {MethodKind::full, MethodKind::lora}) {
      for (const auto attention : {Attention::efficient, Attention::math}) {
        for (const auto& [checkpointing, dtype] : {std::pair{Checkpointing::none, DType::fp32},
                                                   {Checkpointing::none, DType::bf16},
                                                   {Checkpointing::selective, DType::bf16},
                                                   {Checkpointing::layer, DType::fp32}}) {
          Job job = base_job();
          job.compute.dtype = dtype;
          job.compute.attention = attention;
          job.compute.checkpointing = checkpointing;
          job.compute.activation_offloading = true;
          job.optimizer.offload = dtype == DType::fp32;
          job.method.kind = kind;
          job.method.dropout = kind == MethodKind::lora ? 0.1 : 0;
          job.batch.accumulate = 2;
          expect_agreement(
              job, config,
              fmt::format("offloaded {} {} {} {} {}", config.family, to_string(kind),
                          to_string(attention), to_string(checkpointing), to_string(dtype)));
        }
      }
    }
  }
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
      for (const auto& [checkpointing, accumulate] : {std::pair{Checkpointing::none, 1U},
                                                      {Checkpointing::none, 2U},
                                                      {Checkpointing::selective, 7U},
                                                      {Checkpointing::selective, 2U},
                                                      {Checkpointing::layer, 1U},
                                                      {Checkpointing::layer, 7U}}) {
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

}  // namespace
}  // namespace headroom::trainer
