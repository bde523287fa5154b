// SPDX-License-Identifier: Apache-2.0
// Rotary position embedding (Su et al. 2021) in Hugging Face's convention: element i of the first
// half of a head is rotated together with element i of the second half.
//
// Memory. With N rows of heads·D:
//   forward    rotates in place. Temporary (workspace) for bf16: half of a sample of x.
//   saved      nothing but the tables, [longest sequence, D/2] each, which all layers share.
//   backward   rotates the gradient back in place, with the same temporary.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/TensorOptions.h>

#include <cstdint>

#include "estimate/rotary_scaling.h"
#include "trainer/ops/segments.h"

namespace headroom::trainer::ops {

struct RotaryTables {
  at::Tensor cos;  // [longest sequence, head_dim / 2], dtype of the model
  at::Tensor sin;
};

// `as`: of what dtype, and where.
RotaryTables rotary_tables(std::int64_t longest, std::int64_t head_dim, double theta,
                           const at::TensorOptions& as,
                           const estimate::RotaryScaling& scaling = {});

// x is [N, heads·head_dim], contiguous; positions count from 0 in every sample. Requires: the
// samples are all of the rows, and none is longer than the tables.
void rotary_(at::Tensor& x, const RotaryTables& tables, const Segments& samples);
void rotary_backward_(at::Tensor& grad, const RotaryTables& tables, const Segments& samples);

}  // namespace headroom::trainer::ops
