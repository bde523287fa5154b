// SPDX-License-Identifier: Apache-2.0
// Numbers as codes in blocks that share a scale, as bitsandbytes quantises them: a block is divided
// by its largest magnitude, and each number becomes the code whose value is nearest.
//
//   nf4      two codes a byte, the first one in the upper half; a scale for each 64 numbers
//   scales   of nf4 a second time: their mean is taken off, and they become bytes of the dynamic
//            map with a scale for each 256
//   int8     a byte for each number, -127 to 127; a scale for each row
//
// Source: bitsandbytes: bitsandbytes/backends/default/ops.py (quantize_4bit, dequantize_4bit,
// quantize_blockwise, int8_vectorwise_quant), functional.py (quantize_4bit's compress_statistics).
// All sums are in fp32 but for the mean of scales, which is in double. Nothing here allocates.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace headroom::trainer::quantised {

inline constexpr std::size_t nf4_block = 64;
inline constexpr std::size_t scale_block = 256;

constexpr std::size_t count_blocks(std::size_t numbers, std::size_t block) {
  return (numbers + block - 1) / block;
}

// Writes (values.size() + 1) / 2 bytes to `packed` and a scale for each block to `scales`. The
// values begin at a block's border. A value that is not finite gives codes without a meaning.
void quantise_nf4(std::span<const float> values, std::uint8_t* packed, float* scales);

// Scales as they are kept: in fp32, or as codes with an offset and scales of their own.
struct Scales {
  const float* plain = nullptr;
  const std::uint8_t* codes = nullptr;  // Where there are no plain ones, with the two that follow.
  const float* nested = nullptr;        // One for each 256 codes.
  float offset = 0;

  float at(std::size_t block) const;
};

// Writes a code for each scale and a scale for each 256 of them, and returns the offset: their
// mean.
float quantise_scales(std::span<const float> scales, std::uint8_t* codes, float* nested);

struct Nf4 {
  const std::uint8_t* packed = nullptr;
  Scales scales;
};
// The numbers from `first` on, as many as `out` has room for.
void dequantise_nf4(const Nf4& matrix, std::size_t first, std::span<float> out);

// One row; returns its scale, the largest magnitude.
float quantise_int8(std::span<const float> row, std::int8_t* codes);
void dequantise_int8(const std::int8_t* codes, float scale, std::span<float> out);

}  // namespace headroom::trainer::quantised
