// SPDX-License-Identifier: Apache-2.0
#include "trainer/quantised/blockwise.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "trainer/quantised/code_tables.h"

namespace headroom::trainer::quantised {
namespace {

constexpr float least_scale = 1e-38F;  // What a block of zeros is divided by.
constexpr float int8_most = 127;

float largest_magnitude(std::span<const float> values) {
  float largest = 0;
  for (const float value : values) largest = std::max(largest, std::abs(value));
  return largest;
}

// Halfway between two values of a table: what is not above it takes the lower code.
template <std::size_t count>
constexpr std::array<float, count - 1> borders_of(const std::array<float, count>& values) {
  std::array<float, count - 1> borders{};
  for (std::size_t i = 0; i + 1 < count; ++i) borders[i] = (values[i] + values[i + 1]) / 2;
  return borders;
}

// How many of the borders are below `value`: the code of the nearest value of the table.
template <std::size_t count>
std::uint8_t code_of(const std::array<float, count>& borders, float value) {
  return static_cast<std::uint8_t>(std::lower_bound(borders.begin(), borders.end(), value) -
                                   borders.begin());
}

std::uint8_t nf4_code(float value) {
  constexpr auto borders = borders_of(nf4_values);
  std::uint8_t code = 0;  // Counting 15 borders is faster than a search that branches.
  for (const float border : borders) code = static_cast<std::uint8_t>(code + (value > border));
  return code;
}

}  // namespace

void quantise_nf4(std::span<const float> values, std::uint8_t* packed, float* scales) {
  for (std::size_t first = 0; first < values.size(); first += nf4_block) {
    const auto block = values.subspan(first, std::min(nf4_block, values.size() - first));
    const float scale = largest_magnitude(block);
    *scales++ = scale;
    const float inverse = 1 / std::max(scale, least_scale);
    for (std::size_t i = 0; i < block.size(); i += 2) {
      const std::uint8_t upper = nf4_code(block[i] * inverse);
      const std::uint8_t lower = nf4_code(i + 1 < block.size() ? block[i + 1] * inverse : 0);
      *packed++ = static_cast<std::uint8_t>(upper << 4U | lower);
    }
  }
}

float Scales::at(std::size_t block) const {
  if (plain != nullptr) return plain[block];
  const float centred = dynamic_map()[codes[block]] * nested[block / scale_block];
  return centred + offset;
}

float quantise_scales(std::span<const float> scales, std::uint8_t* codes, float* nested) {
  static const auto borders = borders_of(dynamic_map());
  double sum = 0;
  for (const float scale : scales) sum += static_cast<double>(scale);
  const auto offset = static_cast<float>(sum / static_cast<double>(scales.size()));
  for (std::size_t first = 0; first < scales.size(); first += scale_block) {
    const auto block = scales.subspan(first, std::min(scale_block, scales.size() - first));
    float largest = 0;
    for (const float scale : block) largest = std::max(largest, std::abs(scale - offset));
    *nested++ = largest;
    const float inverse = 1 / std::max(largest, least_scale);
    for (const float scale : block) *codes++ = code_of(borders, (scale - offset) * inverse);
  }
  return offset;
}

void dequantise_nf4(const Nf4& matrix, std::size_t first, std::span<float> out) {
  const std::size_t end = first + out.size();
  float* next = out.data();
  for (std::size_t i = first; i < end;) {
    const std::size_t block = i / nf4_block;
    const std::size_t block_end = std::min(end, (block + 1) * nf4_block);
    const float scale = matrix.scales.at(block);
    std::array<float, nf4_values.size()> values{};
    for (std::size_t code = 0; code < values.size(); ++code)
      values[code] = nf4_values[code] * scale;
    if (i % 2 == 1) *next++ = values[matrix.packed[i++ / 2] & 0xFU];
    for (; i + 1 < block_end; i += 2) {
      const std::uint8_t both = matrix.packed[i / 2];
      *next++ = values[both >> 4U];
      *next++ = values[both & 0xFU];
    }
    if (i < block_end) *next++ = values[matrix.packed[i++ / 2] >> 4U];
  }
}

float quantise_int8(std::span<const float> row, std::int8_t* codes) {
  const float scale = largest_magnitude(row);
  const float factor = int8_most / std::max(scale, least_scale);
  for (const float value : row)
    *codes++ =
        static_cast<std::int8_t>(std::nearbyint(std::clamp(value * factor, -int8_most, int8_most)));
  return scale;
}

void dequantise_int8(const std::int8_t* codes, float scale, std::span<float> out) {
  const float step = scale / int8_most;
  for (float& value : out) value = static_cast<float>(*codes++) * step;
}

}  // namespace headroom::trainer::quantised
