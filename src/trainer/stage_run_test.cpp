// SPDX-License-Identifier: Apache-2.0
// The parts of a model that is split, one after the other in one process, against the whole model:
// the same first weights, the same loss, the same gradients.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <map>

#include "trainer/gradient_norm.h"
#include "trainer/testing/tiny_models.h"

namespace headroom::trainer {
namespace {

using estimate::StagePart;

constexpr std::uint64_t base_seed = 11, adapter_seed = 12, dropout_seed = 13;
constexpr double scale = 0.01;

std::unique_ptr<Model> make(const estimate::ModelConfig& config, ModelOptions options,
                            std::optional<StagePart> part) {
  options.part = part;
  auto model = std::make_unique<Model>(config, options);
  model->initialise_base(base_seed);
  model->initialise_adapters(adapter_seed);
  // So that adapters' gradients are not zero.
  for (Parameter& parameter : model->adapters()) parameter.value.add_(0.05);
  return model;
}

using Tensors = std::map<std::string, at::Tensor>;

// Each of a tied embedding and its copy has a part of the gradient.
void collect(Model& model, Tensors& gradients) {
  for (const Parameter& parameter : model.trainable()) {
    at::Tensor& sum = gradients[parameter.name];
    sum = sum.defined() ? sum + parameter.grad : parameter.grad;
  }
}

void expect_parts_to_agree(const estimate::ModelConfig& config, const ModelOptions& options) {
  const MicroBatch batch = testing::pad(testing::random_samples({9, 6, 7}, config.vocabulary));
  const auto whole = make(config, options, std::nullopt);
  const double loss = train_micro_batch(*whole, batch, scale, dropout_seed);
  Tensors expected, found;
  collect(*whole, expected);

  std::vector<std::unique_ptr<Model>> parts;
  std::vector<std::unique_ptr<StageRun>> runs;
  at::Tensor passed, evaluated;
  for (std::uint32_t stage = 0; stage < config.layers; ++stage) {
    parts.push_back(make(config, options,
                         StagePart{stage, static_cast<std::uint32_t>(config.layers), stage,
                                   stage + std::uint64_t{1}}));
    for (const Parameter& parameter : parts.back()->base()) {
      for (const Parameter& other : whole->base()) {
        if (parameter.name == other.name) {
          EXPECT_TRUE(parameter.value.equal(other.value));
        }
      }
    }
    runs.push_back(std::make_unique<StageRun>(*parts.back(), batch, scale, dropout_seed));
    evaluated = forward_only(*parts.back(), batch, evaluated);
    passed = runs.back()->forward(passed);
  }
  EXPECT_NEAR(runs.back()->loss(), loss, 1e-9 * loss);
  EXPECT_NEAR(evaluate_head(*parts.back(), batch, evaluated), evaluate_micro_batch(*whole, batch),
              1e-9 * loss);
  for (std::size_t stage = parts.size(); stage-- > 0;) {
    passed = runs[stage]->backward(passed);
    collect(*parts[stage], found);
  }
  ASSERT_EQ(found.size(), expected.size());
  for (const auto& [name, gradient] : expected)
    EXPECT_TRUE(at::allclose(found[name], gradient, 1e-9, 1e-12)) << name;
}

TEST(StageRun, parts_give_the_loss_and_gradients_of_the_whole) {
  estimate::ModelConfig config = testing::tiny_config();
  for (const bool tied : {false, true}) {
    config.tied = tied;
    expect_parts_to_agree(config, testing::fp64_options());
  }
  config.windows = {0, 4, 2};
  ModelOptions options = testing::fp64_options();
  options.checkpointing = estimate::Checkpointing::layer;
  expect_parts_to_agree(config, options);
}

TEST(StageRun, adapters_with_the_same_dropout_masks) {
  ModelOptions options = testing::fp64_options();
  options.lora = testing::fp64_lora();
  options.lora->dropout = 0.3;
  expect_parts_to_agree(testing::tiny_config(), options);
}

TEST(StageRun, gpt2_with_its_positions) {
  expect_parts_to_agree(testing::tiny_gpt2_config(), testing::fp64_options());
}

TEST(StageRun, gemma2_with_its_scaled_embedding) {
  expect_parts_to_agree(testing::tiny_gemma2_config(), testing::fp64_options());
}

TEST(StageRun, a_copy_of_the_embedding_is_not_counted_twice) {
  const ModelOptions options = testing::fp64_options();
  estimate::ModelConfig config = testing::tiny_config();
  config.tied = true;
  const auto last = make(config, options, StagePart{1, 2, 1, 3});
  ASSERT_TRUE(last->head().is_copy);
  for (Parameter& parameter : last->base()) parameter.grad = at::zeros_like(parameter.value);
  last->head().grad = at::ones_like(last->head().value);
  EXPECT_EQ(sum_of_squares(last->base()), 0);
  EXPECT_FALSE(last->stored().front().is_copy);
  EXPECT_TRUE(last->stored().back().is_copy);
}

TEST(StageRun, what_belongs_to_another_part_is_known_by_its_name) {
  const auto middle = make(testing::tiny_config(), testing::fp64_options(), StagePart{1, 3, 1, 2});
  for (const char* name : {"model.embed_tokens.weight", "model.norm.weight", "lm_head.weight",
                           "model.layers.0.mlp.up_proj.weight", "model.layers.2.x"})
    EXPECT_TRUE(middle->is_elsewhere(name)) << name;
  for (const char* name :
       {"model.layers.1.mlp.up_proj.weight", "model.layers.3.x", "other.weight", "model.layers.x"})
    EXPECT_FALSE(middle->is_elsewhere(name)) << name;
}

TEST(StageRun, the_bytes_of_parts_are_those_that_they_allocate) {
  for (const bool tied : {false, true}) {
    for (estimate::ModelConfig config :
         {testing::tiny_config(), testing::tiny_gpt2_config(), testing::tiny_gemma2_config()}) {
      config.tied = tied;
      ModelOptions options = testing::fp64_options();
      for (const StagePart part : {StagePart{0, 2, 0, 1}, StagePart{1, 2, 1, 3}}) {
        options.part = part;
        const auto model = make(config, options, part);
        std::uint64_t bytes = 0;
        for (const Parameter& parameter : model->base()) bytes += parameter.value.nbytes();
        EXPECT_EQ(parameter_bytes(config, options).weights, bytes);
      }
    }
  }
}

}  // namespace
}  // namespace headroom::trainer
