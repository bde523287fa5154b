// SPDX-License-Identifier: Apache-2.0
#include "trainer/adamw.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

#include "trainer/ops/row_blocks.h"
#include "trainer/testing/plain_memory.h"
#include "trainer/torch_memory.h"

namespace headroom::trainer {
namespace {

// The textbook, one number at a time.
double textbook(double value, const std::vector<double>& gradients, const AdamWSettings& s) {
  double mean = 0;
  double variance = 0;
  double t = 0;
  for (const double g : gradients) {
    ++t;
    mean = s.beta1 * mean + (1 - s.beta1) * g;
    variance = s.beta2 * variance + (1 - s.beta2) * g * g;
    value -= s.learning_rate * s.weight_decay * value;
    const double mean_hat = mean / (1 - std::pow(s.beta1, t));
    const double variance_hat = variance / (1 - std::pow(s.beta2, t));
    value -= s.learning_rate * mean_hat / (std::sqrt(variance_hat) + s.epsilon);
  }
  return value;
}

TEST(AdamW, three_steps_follow_the_textbook) {
  std::deque<Parameter> parameters;
  parameters.push_back({"w", at::tensor({0.5, -2.0, 3.0}, at::kDouble), {}, true});
  const AdamWSettings settings{.learning_rate = 0.1, .weight_decay = 0.2};
  AdamW optimizer(parameters, settings);
  const std::vector<std::vector<double>> gradients = {{0.3, -0.1, 2}, {-0.5, 0.2, 2}, {0, 0.3, 9}};
  for (std::size_t step = 0; step < 3; ++step) {
    parameters[0].grad =
        at::tensor({gradients[0][step], gradients[1][step], gradients[2][step]}, at::kDouble);
    optimizer.step();
    EXPECT_FALSE(parameters[0].grad.defined());
  }
  const double start[] = {0.5, -2.0, 3.0};
  for (std::int64_t i = 0; i < 3; ++i) {
    const double expected = textbook(start[i], gradients[static_cast<std::size_t>(i)], settings);
    EXPECT_NEAR(parameters[0].value[i].item<double>(), expected, 1e-12);
  }
}

// In fp32 none at all.
TEST(AdamW, a_bf16_parameter_of_many_blocks_needs_two_block_sized_temporaries) {
  for (const at::ScalarType dtype : {at::kFloat, at::kBFloat16}) {
    testing::PlainMemory policy;
    const TorchMemory memory(policy);
    const std::int64_t elements = 3 * ops::block_elements + 5;
    std::deque<Parameter> parameters;
    parameters.push_back({"w", at::zeros({elements}, dtype), {}, true});
    AdamW optimizer(parameters, {});
    optimizer.allocate_states();
    parameters[0].grad = at::ones({elements}, dtype);
    const std::uint64_t before = memory.usage().live_bytes;
    const std::uint64_t peak = memory.usage().live_peak_bytes;
    optimizer.step();
    const std::uint64_t blocks =
        dtype == at::kFloat ? 0 : 2 * 4 * static_cast<std::uint64_t>(ops::block_elements);
    EXPECT_GE(memory.usage().live_peak_bytes, before + blocks);
    EXPECT_LE(memory.usage().live_peak_bytes, std::max(peak, before + blocks + 4096));
    EXPECT_LT((parameters[0].value.to(at::kFloat) + 1e-3).abs().max().item<double>(),
              dtype == at::kFloat ? 1e-6 : 1e-5);
    EXPECT_EQ(memory.usage().live[allocator::Component::optimizer],
              2 * round_up(static_cast<std::uint64_t>(elements) * at::elementSize(dtype), 512));
  }
}

TEST(AdamW, bf16_states_have_the_dtype_of_the_parameter) {
  std::deque<Parameter> parameters;
  parameters.push_back({"w", at::ones({8}, at::kBFloat16), {}, true});
  AdamW optimizer(parameters, {.learning_rate = 0.25, .weight_decay = 0});
  parameters[0].grad = at::full({8}, 2, at::kBFloat16);
  optimizer.step();
  EXPECT_EQ(optimizer.states_of(0)[0].value.scalar_type(), at::kBFloat16);
  EXPECT_NEAR(parameters[0].value[3].item<double>(), 0.75, 0.01);
}

}  // namespace
}  // namespace headroom::trainer
