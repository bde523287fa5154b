// SPDX-License-Identifier: Apache-2.0
// The running means of an optimizer in a byte each: every moment_block numbers share a scale, their
// largest magnitude, and a byte is the nearest number of a dynamic map (code_tables.h) times that.
// Dettmers et al. 2022, 8-bit Optimizers via Block-wise Quantization. As bitsandbytes keeps them:
// optim/optimizer.py (which parameters, how large a block), backends/cpu/ops.py (the arithmetic).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace headroom::trainer::quantised {

inline constexpr std::size_t moment_block = 256;

// One of the two moments: means of gradients have a sign, means of their squares have none. Made
// once; any thread may use it.
class MomentCodes {
 public:
  static const MomentCodes& of_means();
  static const MomentCodes& of_squares();

  // `codes` are those of one block, or of its beginning; `out` has as many numbers.
  void read(const std::uint8_t* codes, float scale, std::span<float> out) const {
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = values_[codes[i]] * scale;
  }
  // Writes a code for each of `numbers`, at most a block of them, and returns their scale.
  float write(std::span<const float> numbers, std::uint8_t* codes) const;

  const std::array<float, 256>& values() const { return values_; }
  // Between neighbours of values(): what is not above one has the lower code.
  const std::array<float, 255>& borders() const { return borders_; }

 private:
  explicit MomentCodes(const std::array<float, 256>& values);

  std::uint8_t nearest(float number) const;

  const std::array<float, 256>& values_;
  std::array<float, 255> borders_{};
  // The lowest code of all floats that begin with the same bits: of sign and exponent, and the
  // first five of the fraction. Two steps at most are left from there.
  std::array<std::uint8_t, std::size_t{1} << 14U> first_{};
};

}  // namespace headroom::trainer::quantised
