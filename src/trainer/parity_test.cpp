// SPDX-License-Identifier: Apache-2.0
// Tiny models of every family with what transformers computes of them: logits, and the losses and
// gradient norms of five steps of AdamW (tests/trainer/parity, written by tools/parity.py).
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/document.h"
#include "estimate/model_config.h"
#include "machine/user_files.h"
#include "trainer/adamw.h"
#include "trainer/gradient_norm.h"
#include "trainer/load_weights.h"
#include "trainer/ops/by_libtorch.h"
#include "trainer/step.h"
#include "trainer/supported_config.h"
#include "trainer/testing/tiny_models.h"

namespace headroom::trainer {
namespace {

using estimate::Attention;

std::string parity_folder() {
  return std::string(HEADROOM_SOURCE_DIR) + "/tests/trainer/parity";
}

Json read_json(const std::string& path) {
  const auto text = machine::read_file(path);
  return text ? *parse_json(*text) : Json();
}

std::vector<std::string> families() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(parity_folder()))
    names.push_back(entry.path().filename());
  return names;
}

class Parity : public ::testing::TestWithParam<std::string> {
 protected:
  Parity()
      : folder_(parity_folder() + "/" + GetParam()), golden_(read_json(folder_ + "/golden.json")) {
    for (const Json& sample : golden_["samples"])
      samples_.push_back(sample.get<std::vector<std::int64_t>>());
  }

  std::unique_ptr<Model> load(Attention attention,
                              const std::optional<LoraOptions>& lora = std::nullopt) const {
    const Json json = read_json(folder_ + "/config.json");
    const auto config = estimate::parse_model_config(json);
    EXPECT_TRUE(config) << config.error().message;
    EXPECT_TRUE(check_supported(json, *config));
    ModelOptions options;
    options.attention = attention;
    options.longest = 64;
    options.lora = lora;
    auto model = std::make_unique<Model>(*config, options);
    const Status loaded = load_weights(folder_, *model);
    EXPECT_TRUE(loaded) << loaded.error().message;
    return model;
  }

  std::string folder_;
  Json golden_;
  std::vector<testing::Sample> samples_;
};

TEST_P(Parity, logits_are_those_of_transformers) {
  for (const Attention attention : {Attention::efficient, Attention::math}) {
    const auto model = load(attention);
    const at::Tensor logits = compute_logits(*model, testing::pad({samples_[0]}));
    ASSERT_EQ(logits.size(0), static_cast<std::int64_t>(golden_["logits"].size()));
    for (std::int64_t i = 0; i < logits.size(0); ++i) {
      const auto row = golden_["logits"][static_cast<std::size_t>(i)].get<std::vector<double>>();
      const at::Tensor off = logits[i].to(at::kDouble) - at::tensor(row, at::kDouble);
      EXPECT_LE(off.abs().max().item<double>(), 1e-5) << "token " << i;
    }
  }
}

// Five steps of AdamW on all samples at once.
void expect_losses(Model& model, const std::vector<testing::Sample>& samples, const Json& golden,
                   bool packed = false) {
  AdamW optimizer(model.trainable(), {.learning_rate = 1e-2, .weight_decay = 0.01});
  double targets = 0;
  for (const testing::Sample& sample : samples) targets += static_cast<double>(sample.size() - 1);
  for (std::size_t step = 0; step < golden["losses"].size(); ++step) {
    const MicroBatch batch = packed ? testing::lay_end_to_end(samples) : testing::pad(samples);
    const double sum = train_micro_batch(model, batch, 1 / targets, 1);
    EXPECT_NEAR(sum / targets, golden["losses"][step].get<double>(), 1e-5) << "step " << step;
    EXPECT_NEAR(gradient_norm(model.trainable()) / golden["norms"][step].get<double>(), 1, 1e-4);
    optimizer.step();
  }
}

TEST_P(Parity, losses_and_gradient_norms_of_five_steps_are_those_of_transformers) {
  const auto model = load(Attention::efficient);
  expect_losses(*model, samples_, golden_);
}

TEST_P(Parity, samples_in_one_row_are_as_transformers_computes_each_by_itself) {
  for (const Attention attention : {Attention::efficient, Attention::math}) {
    const auto model = load(attention);
    expect_losses(*model, samples_, golden_, /*packed=*/true);
  }
}

// What a GPU computes with, here on the processor.
TEST_P(Parity, libtorchs_operations_alone_do_the_same) {
  const ops::WithoutKernels by_libtorch;
  for (const Attention attention : {Attention::efficient, Attention::math}) {
    for (const bool packed : {false, true}) {
      const auto model = load(attention);
      expect_losses(*model, samples_, golden_, packed);
    }
  }
}

class AdapterParity : public Parity {};

TEST_P(AdapterParity, losses_and_gradient_norms_of_adapters_are_those_of_peft) {
  using enum estimate::Target;
  const Json golden = read_json(folder_ + "/lora.json");
  const auto model = load(Attention::efficient,
                          LoraOptions{.rank = 2, .alpha = 6, .targets = {q, k, v, o, gate, up}});
  ASSERT_EQ(model->adapters().size(), golden["adapters"].size());
  for (Parameter& parameter : model->adapters()) {
    ASSERT_TRUE(golden["adapters"].contains(parameter.name)) << parameter.name;
    const auto rows = golden["adapters"][parameter.name].get<std::vector<std::vector<double>>>();
    ASSERT_EQ(static_cast<std::int64_t>(rows.size()), parameter.value.size(0));
    for (std::size_t i = 0; i < rows.size(); ++i)
      parameter.value[static_cast<std::int64_t>(i)].copy_(at::tensor(rows[i], at::kDouble));
  }
  expect_losses(*model, samples_, golden);
}

INSTANTIATE_TEST_SUITE_P(Phi3, AdapterParity, ::testing::Values("phi3"));

INSTANTIATE_TEST_SUITE_P(Families, Parity, ::testing::ValuesIn(families()), [](const auto& family) {
  std::string name = family.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

}  // namespace
}  // namespace headroom::trainer
