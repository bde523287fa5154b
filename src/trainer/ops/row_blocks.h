// SPDX-License-Identifier: Apache-2.0
// Work on the rows of a matrix a block at a time, in a dtype wide enough to add up in: temporaries
// then have the size of a block, whatever the batch.
#pragma once

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <cstdint>

#include "estimate/headroom_engine.h"

namespace headroom::trainer::ops {

// The most elements that a block temporary of an operation or of the optimizer has.
inline constexpr auto block_elements = static_cast<std::int64_t>(estimate::block_elements);

// How many rows of `width` elements make a block; at least one.
inline std::int64_t rows_per_block(std::int64_t width) {
  return std::max<std::int64_t>(1, block_elements / std::max<std::int64_t>(1, width));
}

// The dtype of sums, norms and softmax: fp32, or fp64 where the data is fp64.
inline at::ScalarType wide(at::ScalarType dtype) {
  return dtype == at::kDouble ? at::kDouble : at::kFloat;
}

// The tensor itself where it is wide already, else a copy of its size.
inline at::Tensor widen(const at::Tensor& tensor) {
  return tensor.to(wide(tensor.scalar_type()));
}

// Calls work(first row, number of rows) over all rows.
template <class Work>
void for_row_blocks(std::int64_t rows, std::int64_t rows_a_block, const Work& work) {
  for (std::int64_t first = 0; first < rows; first += rows_a_block) {
    work(first, std::min(rows_a_block, rows - first));
  }
}

}  // namespace headroom::trainer::ops
