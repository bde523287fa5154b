// SPDX-License-Identifier: Apache-2.0
#include "trainer/quantised/moments.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "trainer/quantised/code_tables.h"

namespace headroom::trainer::quantised {
namespace {

constexpr float least_scale = 1e-38F;  // What a block of zeros is divided by.
constexpr unsigned bits_left_out = 18;

}  // namespace

MomentCodes::MomentCodes(const std::array<float, 256>& values) : values_(values) {
  for (std::size_t i = 0; i < borders_.size(); ++i) borders_[i] = (values[i] + values[i + 1]) / 2;
  for (std::uint32_t i = 0; i < first_.size(); ++i) {
    const std::uint32_t bits = i << bits_left_out;
    const bool is_negative = (bits >> 31U) != 0;
    const std::uint32_t rest = (std::uint32_t{1} << bits_left_out) - 1;
    const auto least = std::bit_cast<float>(is_negative ? bits | rest : bits);
    first_[i] = static_cast<std::uint8_t>(
        std::lower_bound(borders_.begin(), borders_.end(), least) - borders_.begin());
  }
}

const MomentCodes& MomentCodes::of_means() {
  static const MomentCodes codes(dynamic_map());
  return codes;
}

const MomentCodes& MomentCodes::of_squares() {
  static const MomentCodes codes(unsigned_dynamic_map());
  return codes;
}

std::uint8_t MomentCodes::nearest(float number) const {
  std::size_t code = first_[std::bit_cast<std::uint32_t>(number) >> bits_left_out];
  while (code < borders_.size() && number > borders_[code]) ++code;
  return static_cast<std::uint8_t>(code);
}

float MomentCodes::write(std::span<const float> numbers, std::uint8_t* codes) const {
  float largest = 0;
  for (const float number : numbers) largest = std::max(largest, std::abs(number));
  const float inverse = 1 / std::max(largest, least_scale);
  for (std::size_t i = 0; i < numbers.size(); ++i) codes[i] = nearest(numbers[i] * inverse);
  return largest;
}

}  // namespace headroom::trainer::quantised
