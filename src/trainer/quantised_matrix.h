// SPDX-License-Identifier: Apache-2.0
// A frozen matrix that is kept quantised, and made whole only for as long as a product needs it.
// Formats and their bytes: trainer/quantised/blockwise.h; how files hold them: stored_quantised.h.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>

#include "estimate/job.h"

namespace headroom::trainer {

class QuantisedMatrix {
 public:
  // Allocates its tensors under the present tag, uninitialised. Requires: nf4, nf4_dq or int8.
  QuantisedMatrix(estimate::WeightFormat format, std::int64_t rows, std::int64_t columns,
                  at::ScalarType dtype);

  estimate::WeightFormat format() const { return format_; }
  std::int64_t rows() const { return rows_; }
  std::int64_t columns() const { return columns_; }
  std::int64_t numbers() const { return rows_ * columns_; }

  // nf4: uint8 [numbers/2, 1]; int8: int8 [rows, columns].
  const at::Tensor& packed() const { return packed_; }
  // nf4: fp32 [numbers/64]; nf4_dq: uint8 of that shape; int8: fp32 [rows].
  const at::Tensor& scales() const { return scales_; }
  const at::Tensor& nested() const { return nested_; }  // nf4_dq: fp32 [numbers/64/256]
  float offset() const { return offset_; }              // nf4_dq: of all scales.
  // What a number is rounded to when it is made again, whatever type is then asked for. fp16 is one
  // that files may say.
  at::ScalarType dtype() const { return dtype_; }
  void set_offset(float offset) { offset_ = offset; }
  void set_dtype(at::ScalarType dtype) { dtype_ = dtype; }

  // Rows as they were but for what quantisation lost: [rows, columns]. Allocates them, and nothing
  // else. Threads share the work; who does what changes no bit.
  at::Tensor dequantise(std::int64_t first_row, std::int64_t rows, at::ScalarType dtype) const;

 private:
  void dequantise(std::int64_t first, std::int64_t count, float* out) const;

  estimate::WeightFormat format_;
  std::int64_t rows_;
  std::int64_t columns_;
  at::ScalarType dtype_;
  at::Tensor packed_, scales_, nested_;
  float offset_ = 0;
};

// Fills a matrix with what it is given row by row. Until it is finished it holds the scales of an
// nf4_dq matrix in fp32 (workspace).
class Quantiser {
 public:
  explicit Quantiser(QuantisedMatrix& into);
  // The next numbers of the matrix, row by row: any count that ends with a block (64 numbers) and
  // with a row of int8, or with the matrix. Contiguous.
  void add(const at::Tensor& numbers);
  // Requires: all have been added.
  void finish();

 private:
  QuantisedMatrix& into_;
  at::Tensor scales_;
  std::int64_t done_ = 0;
};

// Some rows of one: fused projections share a matrix.
struct QuantisedRows {
  std::shared_ptr<QuantisedMatrix> matrix;  // Null: the weight is not quantised.
  std::int64_t first = 0;
  std::int64_t count = 0;
};

}  // namespace headroom::trainer
