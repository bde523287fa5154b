// SPDX-License-Identifier: Apache-2.0
// Rotary position embedding (Su et al. 2021) in Hugging Face's convention: element i of the first
// half of a head is rotated together with element i of the second half.
//
// Memory. With N = batch·sequence rows of heads·D:
//   forward    rotates in place. Temporary (workspace) for bf16: half of x, [N, heads·D/2].
//   saved      nothing but the tables, [longest sequence, D/2] each, which all layers share.
//   backward   rotates the gradient back in place, with the same temporary.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/TensorOptions.h>

#include <cstdint>

#include "estimate/rotary_scaling.h"

namespace headroom::trainer::ops {

struct RotaryTables {
  at::Tensor cos;  // [longest sequence, head_dim / 2], dtype of the model
  at::Tensor sin;
};

// `as`: of what dtype, and where.
RotaryTables rotary_tables(std::int64_t longest, std::int64_t head_dim, double theta,
                           const at::TensorOptions& as,
                           const estimate::RotaryScaling& scaling = {});

// x is [batch·sequence, heads·head_dim], contiguous; positions count from 0 in every sample.
void rotary_(at::Tensor& x, const RotaryTables& tables, std::int64_t sequence);
void rotary_backward_(at::Tensor& grad, const RotaryTables& tables, std::int64_t sequence);

}  // namespace headroom::trainer::ops
