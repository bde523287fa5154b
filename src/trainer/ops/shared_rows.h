// SPDX-License-Identifier: Apache-2.0
// Rows of fp32 that threads share: each row is one thread's, so that who does what changes no bit.
#pragma once

#include <ATen/Parallel.h>
#include <ATen/core/Tensor.h>

#include <algorithm>
#include <cstdint>

#include "trainer/ops/by_libtorch.h"

namespace headroom::trainer::ops {

// Numbers below which a second thread costs more than it brings.
inline constexpr std::int64_t worth_sharing = 32768;

// Whether the loops of kernels/kernels.h do it, row by row; where not, libtorch's operations do.
inline bool has_kernels(const at::Tensor& tensor) {
  return tensor.scalar_type() == at::kFloat && tensor.is_contiguous() && !is_by_libtorch(tensor);
}

// Calls work(first, end) for parts of `rows` rows of `width` numbers each.
template <class Work>
void share_rows(std::int64_t rows, std::int64_t width, const Work& work) {
  at::parallel_for(
      0, rows, std::max<std::int64_t>(1, worth_sharing / std::max<std::int64_t>(1, width)), work);
}

// The same for numbers one by one, in pieces that are whole lines of the cache.
template <class Work>
void share_numbers(std::int64_t count, const Work& work) {
  constexpr std::int64_t piece = 1024;
  share_rows((count + piece - 1) / piece, piece, [&](std::int64_t first, std::int64_t end) {
    work(first * piece, std::min(count, end * piece) - first * piece);
  });
}

}  // namespace headroom::trainer::ops
