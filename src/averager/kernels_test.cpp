// SPDX-License-Identifier: Apache-2.0
#include "averager/kernels.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace headroom::averager {
namespace {

template <class T>
const std::byte* bytes(const std::vector<T>& values) {
  return reinterpret_cast<const std::byte*>(values.data());
}

std::uint16_t to_bfloat(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  return static_cast<std::uint16_t>((bits + 0x7fffU + (bits >> 16U & 1U)) >> 16U);
}
float to_float(std::uint16_t value) {
  return std::bit_cast<float>(std::uint32_t{value} << 16U);
}

TEST(AveragerKernels, sums_are_those_in_the_order_of_ranks_to_the_bit) {
  std::mt19937 random(1);
  std::normal_distribution<float> normal(0.0F, 1000.0F);
  for (const std::size_t ranks : {1U, 2U, 3U, 4U, 7U}) {
    for (const std::size_t count : {1U, 31U, 1024U, 1025U, 5000U}) {
      std::vector<std::vector<float>> inputs(ranks, std::vector<float>(count));
      std::vector<const std::byte*> pointers;
      for (auto& input : inputs) {
        for (float& value : input) value = normal(random);
        pointers.push_back(bytes(input));
      }
      std::vector<float> found(count);
      const auto divisor = static_cast<std::uint32_t>(ranks);
      sum(ElementType::float32, pointers, divisor, reinterpret_cast<std::byte*>(found.data()),
          count);
      for (std::size_t i = 0; i < count; ++i) {
        float wanted = inputs[0][i];
        for (std::size_t rank = 1; rank < ranks; ++rank) wanted += inputs[rank][i];
        ASSERT_EQ(found[i], wanted / static_cast<float>(ranks)) << ranks << " ranks, element " << i;
      }
    }
  }
}

TEST(AveragerKernels, bfloat16_is_summed_in_fp32_and_rounded_once) {
  std::mt19937 random(2);
  std::normal_distribution<float> normal(0.0F, 10.0F);
  constexpr std::size_t count = 3000;
  std::vector<std::vector<std::uint16_t>> inputs(3, std::vector<std::uint16_t>(count));
  std::vector<const std::byte*> pointers;
  for (auto& input : inputs) {
    for (auto& value : input) value = to_bfloat(normal(random));
    pointers.push_back(bytes(input));
  }
  std::vector<std::uint16_t> found(count);
  sum(ElementType::bfloat16, pointers, 3, reinterpret_cast<std::byte*>(found.data()), count);
  for (std::size_t i = 0; i < count; ++i) {
    const float wanted = (to_float(inputs[0][i]) + to_float(inputs[1][i])) + to_float(inputs[2][i]);
    ASSERT_EQ(found[i], to_bfloat(wanted / 3.0F)) << i;
  }
}

TEST(AveragerKernels, infinities_and_nans_stay_what_they_are) {
  const std::uint16_t infinity = 0x7f80;
  const std::uint16_t signalling_nan = 0x7f81;
  const std::vector<std::uint16_t> left = {infinity, signalling_nan, infinity, 0x7f7f};
  const std::vector<std::uint16_t> right = {infinity, 0, 0xff80, 0x7f7f};
  const std::vector<const std::byte*> pointers = {bytes(left), bytes(right)};
  std::vector<std::uint16_t> found(left.size());
  sum(ElementType::bfloat16, pointers, 1, reinterpret_cast<std::byte*>(found.data()), found.size());
  EXPECT_EQ(to_float(found[0]), std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::isnan(to_float(found[1])));
  EXPECT_TRUE(std::isnan(to_float(found[2])));
  EXPECT_EQ(to_float(found[3]), std::numeric_limits<float>::infinity());
}

TEST(AveragerKernels, copies_are_whole_and_touch_nothing_beside_at_any_alignment) {
  std::vector<std::byte> from(1000);
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<std::byte>(i * 7 + 1);
  for (const bool stays_out : {false, true})
    for (const std::size_t shift : {0U, 1U, 16U, 63U})
      for (const std::size_t size : {0U, 1U, 63U, 64U, 65U, 500U}) {
        std::vector<std::byte> to(1000, std::byte{0});
        copy(from.data() + 3, to.data() + shift, size, stays_out);
        for (std::size_t i = 0; i < to.size(); ++i) {
          const bool inside = i >= shift && i < shift + size;
          ASSERT_EQ(to[i], inside ? from[3 + i - shift] : std::byte{0}) << i << " of " << size;
        }
      }
}

}  // namespace
}  // namespace headroom::averager
