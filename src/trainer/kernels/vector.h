// SPDX-License-Identifier: Apache-2.0
// Vectors of fp32 as wide as the registers of the processor that the including file is compiled
// for, and functions on sixteen numbers at once, which is what every sum along a row is taken over:
// the same sixteen partial sums on every processor.
#pragma once

#include <cstdint>
#include <utility>

#include "trainer/kernels/kernels.h"

namespace headroom::trainer::kernels {
// One copy for each of the files that include it, which are compiled with other options: they must
// not share one.
// NOLINTBEGIN(misc-definitions-in-headers)
namespace {

#if defined(__AVX512F__)
constexpr std::int64_t lanes = 16;
#elif defined(__AVX__)
constexpr std::int64_t lanes = 8;
#else
constexpr std::int64_t lanes = 4;
#endif
using Vector = float __attribute__((vector_size(lanes * 4)));
using LooseVector = float __attribute__((vector_size(lanes * 4), aligned(4), may_alias));

inline __attribute__((always_inline)) std::int64_t smaller(std::int64_t a, std::int64_t b) {
  return a < b ? a : b;
}

inline __attribute__((always_inline)) float widen(std::uint16_t bf16) {
  return __builtin_bit_cast(float, static_cast<std::uint32_t>(bf16) << 16U);
}

inline __attribute__((always_inline)) Vector load(const float* from) {
  return *reinterpret_cast<const LooseVector*>(from);
}
inline __attribute__((always_inline)) void store(float* to, Vector value) {
  *reinterpret_cast<LooseVector*>(to) = value;
}
inline __attribute__((always_inline)) Vector spread(float value) {
  return value - Vector{};
}

// Sixteen numbers.
constexpr std::int64_t width = 16;
using Wide = float __attribute__((vector_size(width * 4)));
using WideInt = std::int32_t __attribute__((vector_size(width * 4)));
using LooseWide = float __attribute__((vector_size(width * 4), aligned(4), may_alias));

inline __attribute__((always_inline)) Wide load_wide(const float* from) {
  return *reinterpret_cast<const LooseWide*>(from);
}
inline __attribute__((always_inline)) void store_wide(float* to, Wide value) {
  *reinterpret_cast<LooseWide*>(to) = value;
}

// A square of lanes × lanes, transposed in registers: in each stage, the halves of two rows that
// are `distance` apart trade places.
template <std::int64_t distance, class Square, std::size_t... lane>
inline __attribute__((always_inline)) void trade_halves(Square& rows,
                                                        std::index_sequence<lane...>) {
  constexpr std::size_t d = distance;
  constexpr std::size_t other = lanes;
#pragma GCC unroll 16
  for (std::int64_t i = 0; i < lanes; ++i) {
    if ((i & distance) != 0) continue;
    const Vector upper = rows[i];
    const Vector lower = rows[i + distance];
    rows[i] = __builtin_shufflevector(upper, lower, ((lane & d) == 0 ? lane : other + lane - d)...);
    rows[i + distance] =
        __builtin_shufflevector(upper, lower, ((lane & d) == 0 ? lane + d : other + lane)...);
  }
}

inline __attribute__((always_inline)) void transpose(Vector (&rows)[lanes]) {
  constexpr auto every = std::make_index_sequence<static_cast<std::size_t>(lanes)>();
  trade_halves<1>(rows, every);
  trade_halves<2>(rows, every);
  if constexpr (lanes >= 8) trade_halves<4>(rows, every);
  if constexpr (lanes >= 16) trade_halves<8>(rows, every);
}

// to[k · to_stride + i] = from[i · stride + k] for `count` rows i and all k below `inner`. Writes
// up to `lanes` numbers from each to[k · to_stride + …], of which those behind `count` mean
// nothing. Requires: count ≤ lanes, and to_stride·k ascending over what was written too far.
struct RowsToTurn {
  const float* from;
  std::int64_t stride;
  std::int64_t count;
  std::int64_t inner;
};
inline void transpose_rows(const RowsToTurn& rows_of, float* to, std::int64_t to_stride) {
  const auto [from, stride, count, inner] = rows_of;
  std::int64_t k = 0;
  for (; k + lanes <= inner; k += lanes) {
    Vector rows[lanes];
#pragma GCC unroll 16
    for (std::int64_t i = 0; i < lanes; ++i)
      rows[i] = i < count ? load(from + i * stride + k) : Vector{};
    transpose(rows);
#pragma GCC unroll 16
    for (std::int64_t i = 0; i < lanes; ++i) store(to + (k + i) * to_stride, rows[i]);
  }
  for (; k < inner; ++k) {
    for (std::int64_t i = 0; i < count; ++i) to[k * to_stride + i] = from[i * stride + k];
  }
}

}  // namespace
// NOLINTEND(misc-definitions-in-headers)
}  // namespace headroom::trainer::kernels
