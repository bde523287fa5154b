// SPDX-License-Identifier: Apache-2.0
// Samples end to end in a micro-batch: none knows of the others.
#include <ATen/ATen.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "trainer/ops/by_libtorch.h"
#include "trainer/testing/prediction.h"
#include "trainer/testing/tiny_models.h"

namespace headroom::trainer {
namespace {

using estimate::Attention;
using estimate::Checkpointing;
using estimate::ModelConfig;

void expect_as_by_itself(const ModelConfig& config, const ModelOptions& options,
                         const std::vector<testing::Sample>& samples) {
  constexpr double scale = 0.37;
  const auto model = testing::random_model(config, options);
  const testing::Reference expected = testing::ReferenceModel(*model).run(samples, scale);
  const MicroBatch batch = testing::lay_end_to_end(samples);
  EXPECT_NEAR(evaluate_micro_batch(*model, batch), expected.loss, 1e-8);
  EXPECT_NEAR(train_micro_batch(*model, batch, scale, 1), expected.loss, 1e-8);
  std::size_t compared = 0;
  for (auto* parameters : {&model->base(), &model->adapters()}) {
    for (const Parameter& parameter : *parameters) {
      if (!parameter.grad.defined()) continue;
      const at::Tensor& gradient = expected.gradients.at(parameter.name);
      const double off = (parameter.grad - gradient).abs().max().item<double>();
      EXPECT_LE(off, 1e-9 * (1 + gradient.abs().max().item<double>())) << parameter.name;
      ++compared;
    }
  }
  EXPECT_EQ(compared, expected.gradients.size());
}

// Beside autograd that computes one sample after the other, in fp64: across the block of query
// rows, and shorter and longer than windows.
TEST(PackedStep, loss_and_gradients_are_those_of_the_samples_by_themselves) {
  ModelConfig normed = testing::tiny_config();
  normed.qk_norm = true;
  normed.windows = {3, 0, 140};
  for (const ModelConfig& config : {testing::tiny_config(), normed, testing::tiny_gpt2_config(),
                                    testing::tiny_gemma2_config()}) {
    const auto samples = testing::random_samples({9, 1, 150, 2, 128, 33}, config.vocabulary);
    for (const Attention attention : {Attention::efficient, Attention::math}) {
      for (const bool lora : {false, true}) {
        SCOPED_TRACE(fmt::format("{} {} {}", config.family, to_string(attention), lora));
        ModelOptions options = testing::fp64_options();
        options.attention = attention;
        if (lora) {
          options.lora = testing::fp64_lora();
          options.checkpointing = Checkpointing::layer;
          options.loss = estimate::Loss::chunked;
          if (config.is_gpt2())
            options.lora->targets = {estimate::Target::q, estimate::Target::k, estimate::Target::v,
                                     estimate::Target::up};
        }
        expect_as_by_itself(config, options, samples);
        const ops::WithoutKernels by_libtorch;
        expect_as_by_itself(config, options, samples);
      }
    }
  }
}

// What fp32 and bf16 compute of samples end to end, and side by side.
TEST(PackedStep, in_narrow_types_it_is_what_padded_samples_give) {
  const ModelConfig config = testing::tiny_gemma2_config();
  const auto samples = testing::random_samples({40, 150, 7}, config.vocabulary);
  for (const auto& [dtype, tolerance] : {std::pair{at::kFloat, 1e-4}, {at::kBFloat16, 0.05}}) {
    for (const Attention attention : {Attention::efficient, Attention::math}) {
      ModelOptions options = testing::fp64_options();
      options.dtype = dtype;
      options.attention = attention;
      const auto packed = testing::random_model(config, options);
      const auto padded = testing::random_model(config, options);
      const double loss = train_micro_batch(*padded, testing::pad(samples), 0.01, 1);
      EXPECT_NEAR(train_micro_batch(*packed, testing::lay_end_to_end(samples), 0.01, 1) / loss, 1,
                  tolerance);
      for (std::size_t i = 0; i < packed->base().size(); ++i) {
        const at::Tensor one = packed->base()[i].grad.to(at::kDouble);
        const at::Tensor other = padded->base()[i].grad.to(at::kDouble);
        EXPECT_LE((one - other).norm().item<double>(), tolerance * other.norm().item<double>())
            << packed->base()[i].name;
      }
    }
  }
}

// The plan is of rows that one sample fills, which need most.
TEST(PackedStep, the_plan_is_what_full_rows_need_and_no_rows_need_more) {
  std::vector<std::size_t> one_a_row(3, 200), several = {200, 150, 50, 70, 70, 60};
  ModelConfig gpt2 = testing::small_config(true, true);
  gpt2.family = "gpt2";
  gpt2.o_bias = gpt2.mlp_bias = true;
  gpt2.kv_heads = gpt2.heads;
  gpt2.position_rows = 320;
  for (const ModelConfig& config : {testing::small_config(true, true), gpt2}) {
    for (const auto dtype : {estimate::DType::fp32, estimate::DType::bf16}) {
      for (const Attention attention : {Attention::efficient, Attention::math}) {
        estimate::Job job = testing::base_job();
        job.compute.dtype = dtype;
        job.compute.attention = attention;
        const allocator::Usage predicted = testing::predict(job, config);
        const auto measure = [&](const std::vector<std::size_t>& lengths) {
          return testing::measure(job, config, lengths);
        };
        testing::expect_agreement(measure(one_a_row), predicted, config.family);
        const double found = static_cast<double>(measure(several).live_peak_bytes) /
                             static_cast<double>(predicted.live_peak_bytes);
        EXPECT_LE(found, 1.01);
        EXPECT_GE(found, attention == Attention::efficient ? 0.99 : 0.8);
      }
    }
  }
}

}  // namespace
}  // namespace headroom::trainer
