// SPDX-License-Identifier: Apache-2.0
// The hand-written step against the plainest autograd implementation, in fp64: same loss, same
// gradients, for every variant of model and every setting.
#include "trainer/step.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trainer/testing/tiny_models.h"

namespace headroom::trainer {
namespace {

using estimate::Attention;
using estimate::Checkpointing;
using estimate::Loss;
using estimate::ModelConfig;
using testing::fp64_lora;
using testing::fp64_options;
using testing::pad;
using testing::random_model;
using testing::random_samples;
using testing::Reference;
using testing::ReferenceModel;
using testing::tiny_config;

constexpr double scale = 0.37;

std::map<std::string, at::Tensor> gradients(Model& model) {
  std::map<std::string, at::Tensor> all;
  for (auto* parameters : {&model.base(), &model.adapters()}) {
    for (const Parameter& parameter : *parameters) {
      if (parameter.grad.defined()) all[parameter.name] = parameter.grad.clone();
    }
  }
  return all;
}

void expect_same(const std::map<std::string, at::Tensor>& found,
                 const std::map<std::string, at::Tensor>& expected, double tolerance = 1e-10) {
  EXPECT_EQ(found.size(), expected.size());
  for (const auto& [name, gradient] : expected) {
    ASSERT_TRUE(found.contains(name)) << name;
    const double off = (found.at(name) - gradient).abs().max().item<double>();
    const double size = gradient.abs().max().item<double>();
    EXPECT_LE(off, tolerance * (1 + size)) << name;
    EXPECT_GT(size, 0) << name << " would not show a mistake";
  }
}

void expect_matches_reference(const ModelConfig& config, const ModelOptions& options) {
  const auto model = random_model(config, options);
  const auto samples = random_samples({9, 5, 14, 2}, config.vocabulary);
  const Reference expected = ReferenceModel(*model).run(samples, scale);
  const double loss = train_micro_batch(*model, pad(samples), scale, 1);
  EXPECT_NEAR(loss, expected.loss, 1e-9);
  expect_same(gradients(*model), expected.gradients);
  EXPECT_NEAR(evaluate_micro_batch(*model, pad(samples)), expected.loss, 1e-9);
}

TEST(Step, full_training_matches_autograd) {
  expect_matches_reference(tiny_config(), fp64_options());
}

TEST(Step, tied_head_matches_autograd) {
  ModelConfig config = tiny_config();
  config.tied = true;
  expect_matches_reference(config, fp64_options());
}

TEST(Step, llama_without_biases_and_with_all_biases_matches_autograd) {
  ModelConfig config = tiny_config();
  config.qkv_bias = false;
  config.kv_heads = config.heads;
  expect_matches_reference(config, fp64_options());
  config.qkv_bias = config.o_bias = config.mlp_bias = true;
  config.kv_heads = 1;
  expect_matches_reference(config, fp64_options());
}

TEST(Step, normalised_heads_match_autograd) {
  ModelConfig config = tiny_config();
  config.qk_norm = true;
  for (const Checkpointing checkpointing :
       {Checkpointing::none, Checkpointing::selective, Checkpointing::layer}) {
    ModelOptions options = fp64_options();
    options.checkpointing = checkpointing;
    expect_matches_reference(config, options);
    options.lora = fp64_lora();
    expect_matches_reference(config, options);
    options.lora->targets = {estimate::Target::o};
    expect_matches_reference(config, options);
  }
}

// Windows shorter than a block, as long as one, longer, and longer than the sample, beside layers
// that see all.
TEST(Step, windows_match_autograd_in_every_kernel) {
  ModelConfig config = tiny_config();
  config.layers = 2;
  const auto samples = random_samples({290, 128, 129, 3}, config.vocabulary);
  for (const std::uint64_t window : {2, 5, 127, 128, 129, 200, 289, 290, 1000}) {
    config.windows = {window, 0};
    for (const Attention attention : {Attention::efficient, Attention::math}) {
      ModelOptions options = fp64_options();
      options.attention = attention;
      options.loss = Loss::chunked;
      const auto model = random_model(config, options);
      const Reference expected = ReferenceModel(*model).run(samples, scale);
      EXPECT_NEAR(train_micro_batch(*model, pad(samples), scale, 1), expected.loss, 1e-8) << window;
      expect_same(gradients(*model), expected.gradients, 1e-9);
    }
  }
}

TEST(Step, fused_projections_match_autograd) {
  ModelConfig config = tiny_config();
  config.qkv_bias = false;
  config.fused = true;
  expect_matches_reference(config, fp64_options());
}

TEST(Step, lora_matches_autograd_and_trains_nothing_else) {
  ModelOptions options = fp64_options();
  options.lora = fp64_lora();
  expect_matches_reference(tiny_config(), options);
}

TEST(Step, lora_on_one_half_of_the_layer_matches_autograd) {
  ModelOptions options = fp64_options();
  options.lora = fp64_lora();
  options.lora->targets = {estimate::Target::k};
  expect_matches_reference(tiny_config(), options);
  options.lora->targets = {estimate::Target::up};
  expect_matches_reference(tiny_config(), options);
  options.lora->targets = {estimate::Target::down};
  options.checkpointing = Checkpointing::layer;
  expect_matches_reference(tiny_config(), options);
}

TEST(Step, every_setting_gives_the_same_gradients) {
  for (const Attention attention : {Attention::efficient, Attention::math}) {
    for (const Checkpointing checkpointing :
         {Checkpointing::none, Checkpointing::selective, Checkpointing::layer}) {
      for (const Loss loss : {Loss::eager, Loss::chunked}) {
        for (const bool lora : {false, true}) {
          ModelOptions options = fp64_options();
          options.attention = attention;
          options.checkpointing = checkpointing;
          options.loss = loss;
          if (lora) options.lora = fp64_lora();
          expect_matches_reference(tiny_config(), options);
        }
      }
    }
  }
}

ModelConfig tiny_gemma() {
  ModelConfig config = testing::tiny_gemma2_config();
  config.family = "gemma";
  config.norms_around = false;
  config.windows = {};
  config.query_scalar = config.score_cap = config.logit_cap = 0;
  return config;
}

TEST(Step, gemma_and_gemma2_match_autograd_with_every_setting) {
  ModelConfig untied = testing::tiny_gemma2_config();
  untied.tied = false;
  for (const Attention attention : {Attention::efficient, Attention::math}) {
    for (const Checkpointing checkpointing :
         {Checkpointing::none, Checkpointing::selective, Checkpointing::layer}) {
      for (const Loss loss : {Loss::eager, Loss::chunked}) {
        for (const ModelConfig& config : {testing::tiny_gemma2_config(), untied, tiny_gemma()}) {
          ModelOptions options = fp64_options();
          options.attention = attention;
          options.checkpointing = checkpointing;
          options.loss = loss;
          expect_matches_reference(config, options);
          options.lora = fp64_lora();
          expect_matches_reference(config, options);
        }
      }
    }
  }
}

TEST(Step, gemma2_with_lora_on_one_projection_matches_autograd) {
  using enum estimate::Target;
  for (const estimate::Target target : {q, k, o, gate, up, down}) {
    ModelOptions options = fp64_options();
    options.lora = fp64_lora();
    options.lora->targets = {target};
    expect_matches_reference(testing::tiny_gemma2_config(), options);
    options.checkpointing = Checkpointing::layer;
    expect_matches_reference(testing::tiny_gemma2_config(), options);
  }
}

LoraOptions gpt2_lora(std::vector<estimate::Target> targets) {
  LoraOptions lora = fp64_lora();
  lora.targets = std::move(targets);
  return lora;
}

TEST(Step, gpt2_matches_autograd_with_every_setting) {
  using enum estimate::Target;
  for (const Attention attention : {Attention::efficient, Attention::math}) {
    for (const Checkpointing checkpointing :
         {Checkpointing::none, Checkpointing::selective, Checkpointing::layer}) {
      for (const Loss loss : {Loss::eager, Loss::chunked}) {
        ModelOptions options = fp64_options();
        options.attention = attention;
        options.checkpointing = checkpointing;
        options.loss = loss;
        ModelConfig config = testing::tiny_gpt2_config();
        expect_matches_reference(config, options);
        config.tied = false;
        expect_matches_reference(config, options);
        options.lora = gpt2_lora({q, k, v, o, down});
        expect_matches_reference(config, options);
      }
    }
  }
}

TEST(Step, gpt2_with_lora_on_one_projection_matches_autograd) {
  using enum estimate::Target;
  const std::vector<std::vector<estimate::Target>> some = {{q, k, v}, {o}, {up}, {down}};
  for (const auto& targets : some) {
    ModelOptions options = fp64_options();
    options.lora = gpt2_lora(targets);
    expect_matches_reference(testing::tiny_gpt2_config(), options);
    options.checkpointing = Checkpointing::layer;
    expect_matches_reference(testing::tiny_gpt2_config(), options);
  }
}

TEST(Step, gpt2_accumulates_like_one_large_batch) {
  const auto samples = random_samples({9, 5, 14, 2}, testing::tiny_gpt2_config().vocabulary);
  const auto whole = random_model(testing::tiny_gpt2_config(), fp64_options());
  const auto parts = random_model(testing::tiny_gpt2_config(), fp64_options());
  double loss = 0;
  for (const auto& sample : samples) loss += train_micro_batch(*parts, pad({sample}), scale, 1);
  EXPECT_NEAR(train_micro_batch(*whole, pad(samples), scale, 1), loss, 1e-9);
  expect_same(gradients(*parts), gradients(*whole));
}

TEST(Step, sequences_longer_than_a_block_match_autograd) {
  ModelConfig config = tiny_config();
  config.layers = 1;
  for (const Attention attention : {Attention::efficient, Attention::math}) {
    ModelOptions options = fp64_options();
    options.attention = attention;
    options.loss = Loss::chunked;
    const auto model = random_model(config, options);
    const auto samples = random_samples({290, 128, 129}, config.vocabulary);
    const Reference expected = ReferenceModel(*model).run(samples, scale);
    EXPECT_NEAR(train_micro_batch(*model, pad(samples), scale, 1), expected.loss, 1e-8);
    expect_same(gradients(*model), expected.gradients, 1e-9);
  }
}

TEST(Step, accumulated_micro_batches_equal_one_large_batch) {
  const auto samples = random_samples({9, 5, 14, 2}, tiny_config().vocabulary);
  for (const bool lora : {false, true}) {
    ModelOptions options = fp64_options();
    if (lora) options.lora = fp64_lora();
    const auto whole = random_model(tiny_config(), options);
    const auto parts = random_model(tiny_config(), options);
    double loss = 0;
    for (const auto& sample : samples) {
      loss += train_micro_batch(*parts, pad({sample}), scale, 1);
    }
    EXPECT_NEAR(train_micro_batch(*whole, pad(samples), scale, 1), loss, 1e-9);
    expect_same(gradients(*parts), gradients(*whole));
  }
}

TEST(Step, dropout_is_repeated_by_the_same_seed_and_by_recomputation) {
  ModelOptions options = fp64_options();
  options.lora = fp64_lora();
  options.lora->dropout = 0.4;
  const auto samples = random_samples({9, 5}, tiny_config().vocabulary);
  const auto kept = random_model(tiny_config(), options);
  const double loss = train_micro_batch(*kept, pad(samples), scale, 11);
  options.checkpointing = Checkpointing::layer;
  const auto recomputed = random_model(tiny_config(), options);
  EXPECT_EQ(train_micro_batch(*recomputed, pad(samples), scale, 11), loss);
  expect_same(gradients(*recomputed), gradients(*kept), 1e-14);

  EXPECT_NE(train_micro_batch(*kept, pad(samples), scale, 12), loss);
  EXPECT_EQ(evaluate_micro_batch(*kept, pad(samples)),
            evaluate_micro_batch(*recomputed, pad(samples)));
}

// The gradient of one adapter entry against the slope of the loss under the same dropout mask.
TEST(Step, dropout_gradient_is_the_slope_of_the_loss) {
  ModelOptions options = fp64_options();
  options.lora = fp64_lora();
  options.lora->dropout = 0.4;
  const auto samples = random_samples({9, 5}, tiny_config().vocabulary);
  const auto model = random_model(tiny_config(), options);
  train_micro_batch(*model, pad(samples), 1, 11);
  const auto exact = gradients(*model);
  for (Parameter& parameter : model->adapters()) {
    constexpr double step = 1e-5;
    at::Tensor entry = parameter.value.view({-1}).narrow(0, 1, 1);
    const double gradient = exact.at(parameter.name).view({-1})[1].item<double>();
    entry.add_(step);
    const double above = train_micro_batch(*model, pad(samples), 1, 11);
    entry.add_(-2 * step);
    const double below = train_micro_batch(*model, pad(samples), 1, 11);
    entry.add_(step);
    EXPECT_NEAR((above - below) / (2 * step), gradient, 1e-6 * (1 + std::abs(gradient)))
        << parameter.name;
  }
}

// bf16 has 8 bits: what counts is that we are no further from fp64 than libtorch's own bf16 is.
void expect_good_bf16(const ModelConfig& config) {
  const auto samples = random_samples({9, 5, 14, 2}, config.vocabulary);
  ModelOptions options = fp64_options();
  options.dtype = at::kBFloat16;
  for (const Attention attention : {Attention::efficient, Attention::math}) {
    options.attention = attention;
    const auto bf16 = random_model(config, options);
    const auto fp64 = random_model(config, fp64_options());
    for (std::size_t i = 0; i < bf16->base().size(); ++i) {
      fp64->base()[i].value.copy_(bf16->base()[i].value);
    }
    const Reference exact = ReferenceModel(*fp64).run(samples, scale);
    const Reference plain = ReferenceModel(*bf16).run(samples, scale);
    EXPECT_NEAR(train_micro_batch(*bf16, pad(samples), scale, 1) / exact.loss, 1, 0.02);
    double off = 0;
    double plain_off = 0;
    for (const auto& [name, gradient] : gradients(*bf16)) {
      const at::Tensor& expected = exact.gradients.at(name);
      off += ((gradient - expected).norm() / expected.norm()).item<double>();
      plain_off += ((plain.gradients.at(name) - expected).norm() / expected.norm()).item<double>();
    }
    EXPECT_LT(off, 1.2 * plain_off);
  }
}

TEST(Step, bf16_is_as_near_to_fp64_as_autograd_in_bf16) {
  expect_good_bf16(tiny_config());
  expect_good_bf16(testing::tiny_gpt2_config());
  expect_good_bf16(testing::tiny_gemma2_config());
}

}  // namespace
}  // namespace headroom::trainer
