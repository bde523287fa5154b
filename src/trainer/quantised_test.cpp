// SPDX-License-Identifier: Apache-2.0
// Quantised matrices against what bitsandbytes makes of the same numbers, and folders that
// transformers wrote (tests/trainer/quantised, by tools/parity_quantised.py).
#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/document.h"
#include "machine/user_files.h"
#include "trainer/quantised/blockwise.h"
#include "trainer/quantised/code_tables.h"
#include "trainer/quantised/quant_state.h"
#include "trainer/quantised_matrix.h"
#include "trainer/testing/plain_memory.h"
#include "trainer/torch_memory.h"

namespace headroom::trainer {
namespace {

using estimate::WeightFormat;
using ::testing::HasSubstr;

constexpr std::int64_t rows = 23, columns = 21;

Json read_numbers() {
  const auto text = machine::read_file(std::string(HEADROOM_SOURCE_DIR) +
                                       "/tests/trainer/quantised/numbers.json");
  return text ? *parse_json(*text) : Json();
}

// tools/parity.py, made_up().
std::vector<double> made_up(std::size_t count, std::uint32_t seed) {
  std::vector<double> numbers(count);
  for (double& number : numbers) {
    seed = 1664525U * seed + 1013904223U;
    number = static_cast<double>(seed >> 8U) / 8388608.0 - 1;
  }
  return numbers;
}

// tools/parity_quantised.py, numbers().
at::Tensor made_up_weight() {
  std::vector<double> numbers = made_up(rows * columns, 1);
  for (std::size_t i = 0; i < numbers.size(); ++i)
    numbers[i] *= std::pow(2.0, static_cast<double>(i / 64 * 5 % 7) - 3);
  return at::tensor(numbers, at::kFloat).view({rows, columns});
}

QuantisedMatrix quantise(WeightFormat format, const at::Tensor& weight) {
  QuantisedMatrix matrix(format, weight.size(0), weight.size(1), weight.scalar_type());
  Quantiser quantiser(matrix);
  quantiser.add(weight);
  quantiser.finish();
  return matrix;
}

template <class Value>
std::vector<Value> values_of(const at::Tensor& tensor) {
  const at::Tensor flat = tensor.contiguous().view({-1});
  return {flat.data_ptr<Value>(), flat.data_ptr<Value>() + flat.numel()};
}

void expect_near(const at::Tensor& found, const Json& expected) {
  const auto numbers = expected.get<std::vector<double>>();
  ASSERT_EQ(static_cast<std::size_t>(found.numel()), numbers.size());
  const at::Tensor off = found.to(at::kDouble).view({-1}) - at::tensor(numbers, at::kDouble);
  EXPECT_LE(off.abs().max().item<double>(), 1e-6);
}

TEST(Quantised, nf4_is_that_of_bitsandbytes) {
  const Json golden = read_numbers()["nf4"];
  const QuantisedMatrix matrix = quantise(WeightFormat::nf4, made_up_weight());
  EXPECT_EQ(values_of<std::uint8_t>(matrix.packed()),
            golden["packed"].get<std::vector<std::uint8_t>>());
  expect_near(matrix.scales(), golden["absmax"]);
  expect_near(matrix.dequantise(0, rows, at::kFloat), golden["dequantised"]);
}

TEST(Quantised, scales_that_are_quantised_are_those_of_bitsandbytes) {
  const Json golden = read_numbers()["nf4-dq"];
  const QuantisedMatrix matrix = quantise(WeightFormat::nf4_dq, made_up_weight());
  EXPECT_EQ(values_of<std::uint8_t>(matrix.scales()),
            golden["absmax"].get<std::vector<std::uint8_t>>());
  expect_near(matrix.nested(), golden["nested_absmax"]);
  EXPECT_NEAR(matrix.offset(), golden["nested_offset"].get<double>(), 1e-6);
  expect_near(matrix.dequantise(0, rows, at::kFloat), golden["dequantised"]);
}

TEST(Quantised, more_scales_than_a_block_of_them_has) {
  const Json golden = read_numbers()["scales"];
  const std::vector<double> made = made_up(300, 7);
  std::vector<float> scales;
  for (const double number : made) scales.push_back(static_cast<float>(number) + 2);
  std::vector<std::uint8_t> codes(scales.size());
  std::vector<float> nested(2);
  const float offset = quantised::quantise_scales(scales, codes.data(), nested.data());
  EXPECT_EQ(codes, golden["codes"].get<std::vector<std::uint8_t>>());
  EXPECT_NEAR(offset, golden["offset"].get<double>(), 1e-6);
  expect_near(at::tensor(nested), golden["nested"]);
  const quantised::Scales again{nullptr, codes.data(), nested.data(), offset};
  for (std::size_t i = 0; i < scales.size(); ++i) scales[i] = again.at(i);
  expect_near(at::tensor(scales), golden["dequantised"]);
}

TEST(Quantised, the_dynamic_map_is_that_of_bitsandbytes) {
  const auto& map = quantised::dynamic_map();
  expect_near(at::tensor(at::ArrayRef<float>(map.data(), map.size())),
              read_numbers()["dynamic_map"]);
}

TEST(Quantised, int8_is_that_of_bitsandbytes) {
  const Json golden = read_numbers()["int8"];
  const QuantisedMatrix matrix = quantise(WeightFormat::int8, made_up_weight());
  EXPECT_EQ(values_of<std::int8_t>(matrix.packed()),
            golden["codes"].get<std::vector<std::int8_t>>());
  expect_near(matrix.scales(), golden["SCB"]);
  expect_near(matrix.dequantise(0, rows, at::kFloat), golden["dequantised"]);
}

TEST(Quantised, rows_are_those_of_the_whole_whereever_blocks_end) {
  for (const auto format : {WeightFormat::nf4, WeightFormat::nf4_dq, WeightFormat::int8}) {
    const QuantisedMatrix matrix = quantise(format, made_up_weight());
    const at::Tensor whole = matrix.dequantise(0, rows, at::kFloat);
    for (std::int64_t first = 0; first < rows; ++first) {
      for (std::int64_t count = 1; first + count <= rows; count += 3) {
        EXPECT_TRUE(
            at::equal(matrix.dequantise(first, count, at::kFloat), whole.narrow(0, first, count)))
            << to_string(format) << " " << first << " " << count;
      }
    }
  }
}

TEST(Quantised, pieces_make_the_same_as_the_whole) {
  const at::Tensor weight = at::rand({192, 11}) - 0.5;
  for (const auto format : {WeightFormat::nf4, WeightFormat::nf4_dq, WeightFormat::int8}) {
    const QuantisedMatrix whole = quantise(format, weight);
    QuantisedMatrix matrix(format, 192, 11, at::kFloat);
    Quantiser quantiser(matrix);
    for (std::int64_t row = 0; row < 192; row += 64) quantiser.add(weight.narrow(0, row, 64));
    quantiser.finish();
    EXPECT_TRUE(at::equal(matrix.packed(), whole.packed()));
    EXPECT_TRUE(at::equal(matrix.scales(), whole.scales()));
    EXPECT_EQ(matrix.offset(), whole.offset());
  }
}

TEST(Quantised, numbers_are_rounded_to_the_type_that_they_were_quantised_from) {
  QuantisedMatrix matrix = quantise(WeightFormat::nf4, made_up_weight());
  const at::Tensor exact = matrix.dequantise(0, rows, at::kFloat);
  for (const auto dtype : {at::kBFloat16, at::kHalf}) {
    matrix.set_dtype(dtype);
    EXPECT_TRUE(at::equal(matrix.dequantise(0, rows, at::kFloat), exact.to(dtype).to(at::kFloat)));
  }
  matrix.set_dtype(at::kFloat);
  EXPECT_TRUE(at::equal(matrix.dequantise(0, rows, at::kBFloat16), exact.to(at::kBFloat16)));
}

TEST(Quantised, zeros_stay_zeros) {
  for (const auto format : {WeightFormat::nf4, WeightFormat::nf4_dq, WeightFormat::int8}) {
    const QuantisedMatrix matrix = quantise(format, at::zeros({3, 64}));
    EXPECT_EQ(matrix.dequantise(0, 3, at::kFloat).abs().max().item<float>(), 0.0F);
  }
}

TEST(Quantised, making_rows_again_allocates_them_and_nothing_else) {
  testing::PlainMemory memory;
  {
    const TorchMemory hook(memory);
    const QuantisedMatrix matrix(WeightFormat::nf4_dq, 64, 256, at::kBFloat16);
    matrix.packed().zero_();
    matrix.scales().zero_();
    matrix.nested().zero_();
    const std::uint64_t before = memory.usage().live_bytes;
    EXPECT_EQ(before, 64U * 256 / 2 + 512 + 512);
    const at::Tensor whole = matrix.dequantise(0, 64, at::kBFloat16);
    EXPECT_EQ(memory.usage().live_peak_bytes, before + 64 * 256 * 2);
  }
}

TEST(QuantState, is_read_as_it_is_written) {
  const quantised::QuantState state{"bfloat16", 23, 21, 0.25F};
  const auto found = quantised::parse_quant_state(to_text(state));
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->dtype, "bfloat16");
  EXPECT_EQ(found->rows, 23);
  EXPECT_EQ(found->columns, 21);
  EXPECT_EQ(found->nested_offset, 0.25F);
}

TEST(QuantState, what_is_not_read_is_named_with_what_was_expected) {
  const Json good = *parse_json(to_text(quantised::QuantState{"float32", 8, 8, 0.5F}));
  const auto refusal = [&](const char* key, const Json& value) {
    Json bad = good;
    if (value.is_null()) {
      bad.erase(key);
    } else {
      bad[key] = value;
    }
    const auto state = quantised::parse_quant_state(bad.dump());
    if (state) return std::string();
    EXPECT_FALSE(state.error().next.empty());
    return state.error().message;
  };
  EXPECT_THAT(refusal("quant_type", "fp4"),
              HasSubstr("quant_type: expected \"nf4\", found \"fp4\""));
  EXPECT_THAT(refusal("blocksize", 128), HasSubstr("blocksize: expected 64, found 128"));
  EXPECT_THAT(refusal("blocksize", nullptr), HasSubstr("blocksize: expected 64, found nothing"));
  EXPECT_THAT(refusal("nested_blocksize", 64),
              HasSubstr("nested_blocksize: expected 256, found 64"));
  EXPECT_THAT(refusal("nested_offset", nullptr), HasSubstr("nested_offset: expected a number"));
  EXPECT_THAT(refusal("nested_dtype", "float16"), HasSubstr("nested_dtype"));
  EXPECT_THAT(refusal("dtype", "float64"),
              HasSubstr("dtype: expected float32, bfloat16 or float16"));
  EXPECT_THAT(refusal("shape", Json{8}), HasSubstr("shape: expected a matrix's rows and columns"));
  EXPECT_THAT(refusal("shape", Json{8, -8}), HasSubstr("shape"));
  EXPECT_FALSE(quantised::parse_quant_state("{"));
  EXPECT_FALSE(quantised::parse_quant_state("[]"));
}

}  // namespace
}  // namespace headroom::trainer
