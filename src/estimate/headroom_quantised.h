// SPDX-License-Identifier: Apache-2.0
// What the frozen weights of a quantised base take in headroom-train, which uses this to allocate
// them (trainer/quantised_matrix.h).
#pragma once

#include <cstdint>

#include "estimate/job.h"

namespace headroom::estimate {

inline constexpr std::uint64_t nf4_block = 64;     // Numbers that share a scale.
inline constexpr std::uint64_t scale_block = 256;  // Scales that share one of their own.

// The formats of a base that headroom-train reads and writes.
constexpr bool is_quantised(WeightFormat format) {
  return format == WeightFormat::nf4 || format == WeightFormat::nf4_dq ||
         format == WeightFormat::int8;
}

struct QuantisedSizes {
  std::uint64_t packed_bytes = 0;
  std::uint64_t scales = 0;       // How many; bytes in nf4_dq, fp32 in the others.
  std::uint64_t nested = 0;       // Scales of scales, fp32.
  std::uint64_t total_bytes = 0;  // Of all three.
};

// Of a matrix [rows, columns]. Requires: is_quantised(format).
constexpr QuantisedSizes quantised_sizes(WeightFormat format, std::uint64_t rows,
                                         std::uint64_t columns) {
  constexpr std::uint64_t fp32_bytes = 4;
  const std::uint64_t numbers = rows * columns;
  if (format == WeightFormat::int8) return {numbers, rows, 0, numbers + rows * fp32_bytes};
  const std::uint64_t packed = (numbers + 1) / 2;
  const std::uint64_t scales = (numbers + nf4_block - 1) / nf4_block;
  if (format == WeightFormat::nf4) return {packed, scales, 0, packed + scales * fp32_bytes};
  const std::uint64_t nested = (scales + scale_block - 1) / scale_block;
  return {packed, scales, nested, packed + scales + nested * fp32_bytes};
}

}  // namespace headroom::estimate
