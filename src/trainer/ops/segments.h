// SPDX-License-Identifier: Apache-2.0
// Samples that lie one after the other in the rows of a micro-batch. Positions count from 0 in each
// of them, and none sees another.
#pragma once

#include <cstdint>
#include <vector>

namespace headroom::trainer::ops {

// The rows [first, first + length) of one sample.
struct Segment {
  std::int64_t first = 0;
  std::int64_t length = 0;
  std::int64_t scores = 0;  // Σ length² of the samples in front of it.
};

// In order, without gaps between them.
using Segments = std::vector<Segment>;

// By flash attention's cu_seqlens: sample i has the rows [cu_seqlens[i], cu_seqlens[i + 1]).
inline Segments segments_of(const std::vector<std::int64_t>& cu_seqlens) {
  Segments segments;
  std::int64_t scores = 0;
  for (std::size_t i = 0; i + 1 < cu_seqlens.size(); ++i) {
    const std::int64_t length = cu_seqlens[i + 1] - cu_seqlens[i];
    segments.push_back({cu_seqlens[i], length, scores});
    scores += length * length;
  }
  return segments;
}

// Of `batch` samples of `length` rows each.
inline Segments equal_segments(std::int64_t batch, std::int64_t length) {
  Segments segments;
  for (std::int64_t i = 0; i < batch; ++i)
    segments.push_back({i * length, length, i * length * length});
  return segments;
}

}  // namespace headroom::trainer::ops
