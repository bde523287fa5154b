// SPDX-License-Identifier: Apache-2.0
#include "trainer/gradient_norm.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

#include "trainer/adamw.h"
#include "trainer/ops/row_blocks.h"
#include "trainer/testing/plain_memory.h"
#include "trainer/torch_memory.h"

namespace headroom::trainer {
namespace {

TEST(GradientNorm, it_is_of_all_elements_of_all_parameters) {
  std::deque<Parameter> parameters;
  parameters.push_back(
      {"a", at::zeros({2, 2}), at::tensor({1.0, -2.0, 3.0, 4.0}, at::kDouble), true});
  parameters.back().grad = parameters.back().grad.view({2, 2});
  parameters.push_back({"b", at::zeros({1}), at::full({1}, -5.0, at::kDouble), true});
  EXPECT_NEAR(gradient_norm(parameters), std::sqrt(1 + 4 + 9 + 16 + 25.0), 1e-12);
}

TEST(GradientNorm, many_blocks_in_fp32_and_bf16_need_little_memory) {
  const std::int64_t elements = 3 * ops::block_elements + 7;
  for (const at::ScalarType dtype : {at::kFloat, at::kBFloat16}) {
    testing::PlainMemory policy;
    const TorchMemory memory(policy);
    std::deque<Parameter> parameters;
    parameters.push_back({"w", {}, at::full({elements}, 0.5, dtype), true});
    const std::uint64_t before = memory.usage().live_bytes;
    // bf16's own sum would end at 0.5 · √256-odd.
    EXPECT_NEAR(gradient_norm(parameters) / (0.5 * std::sqrt(static_cast<double>(elements))), 1,
                1e-5);
    const std::uint64_t block = dtype == at::kFloat ? 0 : 4 * ops::block_elements;
    EXPECT_LE(memory.usage().live_peak_bytes, before + block + 4096);
  }
}

// The values of torch.nn.utils.clip_grad_norm_ for a gradient of norm 5: 1 / (5 + 1e-6), and 1.
TEST(GradientNorm, gradients_are_shortened_and_never_lengthened) {
  EXPECT_DOUBLE_EQ(clip_factor(5, 1.0), 1 / 5.000001);
  EXPECT_EQ(clip_factor(5, 7.0), 1.0);
  EXPECT_EQ(clip_factor(5, std::nullopt), 1.0);
  EXPECT_DOUBLE_EQ(clip_factor(0, 1e-7), 0.1);
}

TEST(GradientNorm, a_clipped_step_is_the_step_along_the_shorter_gradient) {
  const auto step = [](double gradient, AdamW::Factors factors, double rate) {
    std::deque<Parameter> parameters;
    parameters.push_back({"w", at::full({3}, 2.0, at::kDouble), {}, true});
    AdamW optimizer(parameters, {.learning_rate = rate, .weight_decay = 0.1, .epsilon = 1});
    parameters[0].grad = at::full({3}, gradient, at::kDouble);
    optimizer.step(factors);
    return parameters[0].value[1].item<double>();
  };
  EXPECT_DOUBLE_EQ(step(8, {.gradient = 0.25}, 0.1), step(2, {}, 0.1));
  EXPECT_DOUBLE_EQ(step(2, {.rate = 0.5}, 0.1), step(2, {}, 0.05));
  EXPECT_NE(step(8, {}, 0.1), step(2, {}, 0.1));
  EXPECT_EQ(step(2, {.rate = 0}, 0.1), 2.0);  // No weight decay either.
}

}  // namespace
}  // namespace headroom::trainer
