// SPDX-License-Identifier: Apache-2.0
// AdamW in bytes beside bitsandbytes' AdamW8bit: 20 steps on made-up numbers
// (tests/trainer/quantised/adamw8bit.json, written by tools/parity_quantised.py).
#include "trainer/adamw8bit.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "base/document.h"
#include "machine/user_files.h"
#include "trainer/ops/by_libtorch.h"
#include "trainer/ops/row_blocks.h"
#include "trainer/quantised/moments.h"
#include "trainer/testing/plain_memory.h"
#include "trainer/torch_memory.h"

namespace headroom::trainer {
namespace {

using quantised::MomentCodes;

Json golden() {
  const auto text = machine::read_file(std::string(HEADROOM_SOURCE_DIR) +
                                       "/tests/trainer/quantised/adamw8bit.json");
  return text ? *parse_json(*text) : Json();
}

// As tools/parity.py makes them: exact in fp32.
at::Tensor made_up(const std::vector<std::int64_t>& shape, std::uint32_t seed) {
  at::Tensor tensor = at::empty(shape, at::kFloat);
  for (std::int64_t i = 0; i < tensor.numel(); ++i) {
    seed = 1664525U * seed + 1013904223U;
    tensor.data_ptr<float>()[i] = static_cast<float>(seed >> 8U) / 8388608.0F - 1;
  }
  return tensor;
}

// As numbers() of tools/parity_quantised.py: blocks of different size.
at::Tensor gradients(const std::vector<std::int64_t>& shape, std::uint32_t seed) {
  at::Tensor tensor = made_up(shape, seed);
  for (std::int64_t i = 0; i < tensor.numel(); ++i)
    tensor.data_ptr<float>()[i] *= std::exp2(static_cast<float>((i / 64) * 5 % 7 - 3));
  return tensor;
}

// How many of every 7th number are not the golden ones, within `tolerance` of the largest.
std::size_t count_off(const at::Tensor& found, const Json& expected, double tolerance) {
  std::size_t off = 0, next = 0;
  const at::Tensor numbers = found.view({-1}).to(at::kDouble);
  for (std::int64_t i = 0; i < numbers.numel(); i += 7) {
    const double wanted = expected[next++].get<double>();
    if (!(std::abs(numbers[i].item<double>() - wanted) <= tolerance)) ++off;
  }
  EXPECT_EQ(next, expected.size());
  return off;
}

void expect_scales(const at::Tensor& found, const Json& expected, double tolerance) {
  ASSERT_EQ(found.numel(), static_cast<std::int64_t>(expected.size()));
  for (std::int64_t i = 0; i < found.numel(); ++i) {
    const double wanted = expected[static_cast<std::size_t>(i)].get<double>();
    EXPECT_NEAR(found[i].item<double>(), wanted, tolerance * wanted);
  }
}

// Of 20 steps nearly every number is the golden one. A code that lies between two neighbours may be
// the other one where the arithmetic rounds otherwise, and then its number is off for good.
void expect_golden_steps() {
  const Json file = golden();
  std::deque<Parameter> parameters;
  parameters.push_back({"p", made_up({41, 101}, 3), {}, true});
  const AdamWSettings settings{.learning_rate = 0.01, .weight_decay = 0.1, .in_bytes = true};
  const auto optimizer = make_optimizer(parameters, settings);
  for (std::uint32_t step = 1; step <= 20; ++step) {
    parameters[0].grad = gradients({41, 101}, 1000 * step);
    optimizer->step();
    if (step != 1 && step != 20) continue;
    const Json& wanted = file[step == 1 ? "first" : "last"];
    const auto& states = optimizer->states_of(0);
    const std::size_t few = step == 1 ? 0 : 12;  // Of 592.
    EXPECT_LE(count_off(parameters[0].value, wanted["every_7th"], 1e-6), few);
    EXPECT_EQ(count_off(parameters[0].value, wanted["every_7th"], 1e-3), 0U);
    EXPECT_LE(count_off(states[0].value, wanted["mean"], 0), few);
    EXPECT_LE(count_off(states[2].value, wanted["variance"], 0), few);
    expect_scales(states[1].value, wanted["mean_scale"], 1e-4);
    expect_scales(states[3].value, wanted["variance_scale"], 1e-4);
  }
}

TEST(AdamW8bit, twenty_steps_are_those_of_bitsandbytes) {
  expect_golden_steps();
}

// What a GPU computes with, here on the processor.
TEST(AdamW8bit, libtorchs_operations_alone_take_the_same_steps) {
  const ops::WithoutKernels by_libtorch;
  expect_golden_steps();
}

TEST(AdamW8bit, the_map_of_squares_is_that_of_bitsandbytes) {
  const Json expected = golden()["unsigned_dynamic_map"];
  ASSERT_EQ(expected.size(), 256U);
  for (std::size_t i = 0; i < expected.size(); ++i)
    EXPECT_NEAR(MomentCodes::of_squares().values()[i], expected[i].get<double>(), 1e-7);
}

// The table's shortcut against a search among all, at the borders above all.
TEST(AdamW8bit, every_number_gets_the_nearest_code) {
  std::mt19937 random(7);
  for (const MomentCodes* codes : {&MomentCodes::of_means(), &MomentCodes::of_squares()}) {
    std::vector<float> numbers = {0, -0.0F, 1, -1, 1e-9F, -1e-9F, 1e-38F, 5e-45F};
    for (const float border : codes->borders())
      for (const float towards : {-2.0F, border, 2.0F})
        numbers.push_back(std::nextafter(border, towards));
    std::uniform_real_distribution<float> exponent(-30, 0);
    for (int i = 0; i < 20000; ++i)
      numbers.push_back((i % 2 == 0 ? 1.0F : -1.0F) * std::exp2(exponent(random)));
    const auto& borders = codes->borders();
    for (const float number : numbers) {
      const std::array<float, 2> block = {1, number};  // 1: the scale is 1.
      std::array<std::uint8_t, 2> found{};
      EXPECT_EQ(codes->write(block, found.data()), 1.0F);
      const auto wanted = std::lower_bound(borders.begin(), borders.end(), number);
      ASSERT_EQ(found[1], wanted - borders.begin()) << number;
    }
  }
}

TEST(AdamW8bit, a_block_of_zeros_stays_zero) {
  std::deque<Parameter> parameters;
  parameters.push_back({"p", at::ones({5000}, at::kFloat), {}, true});
  AdamW8bit optimizer(parameters, {.weight_decay = 0});
  for (int step = 0; step < 3; ++step) {
    parameters[0].grad = at::zeros({5000}, at::kFloat);
    optimizer.step();
  }
  EXPECT_TRUE(at::equal(parameters[0].value, at::ones({5000})));
}

TEST(AdamW8bit, bf16_is_rounded_once_and_a_small_parameter_is_kept_in_fp32) {
  for (const std::int64_t numbers : {std::int64_t{4095}, 3 * ops::block_elements + 300}) {
    std::deque<Parameter> wide, half;
    wide.push_back({"p", made_up({numbers}, 3).to(at::kBFloat16).to(at::kFloat), {}, true});
    half.push_back({"p", wide[0].value.to(at::kBFloat16), {}, true});
    AdamW8bit one(wide, {.learning_rate = 0.1}), other(half, {.learning_rate = 0.1});
    half[0].grad = made_up({numbers}, 9).to(at::kBFloat16);
    wide[0].grad = half[0].grad.to(at::kFloat);
    one.step();
    other.step();
    const bool in_bytes = numbers >= least_quantised;
    const at::Tensor off = half[0].value.to(at::kFloat) - wide[0].value.to(at::kBFloat16);
    // What is in fp32 is computed by libtorch's operations, which may round otherwise.
    EXPECT_LE(off.abs().max().item<double>(), in_bytes ? 0 : 0.01) << numbers;
    EXPECT_EQ(other.states_of(0).size(), in_bytes ? 4U : 2U);
    EXPECT_EQ(other.states_of(0)[0].value.scalar_type(), in_bytes ? at::kByte : at::kFloat);
  }
}

TEST(AdamW8bit, states_take_what_is_written_down_and_a_step_nothing_beside_them) {
  for (const at::ScalarType dtype : {at::kFloat, at::kBFloat16}) {
    testing::PlainMemory policy;
    const TorchMemory memory(policy);
    const std::int64_t numbers = 3 * ops::block_elements;
    std::deque<Parameter> parameters;
    parameters.push_back({"w", at::zeros({numbers}, dtype), {}, true});
    AdamW8bit optimizer(parameters, {});
    optimizer.allocate_states();
    parameters[0].grad = at::ones({numbers}, dtype);
    const std::uint64_t before = memory.usage().live_bytes;
    optimizer.step();
    EXPECT_EQ(memory.usage().live_peak_bytes, before);
    EXPECT_EQ(memory.usage().live[allocator::Component::optimizer],
              static_cast<std::uint64_t>(2 * (numbers + 4 * numbers / 256)));
  }
}

}  // namespace
}  // namespace headroom::trainer
