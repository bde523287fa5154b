// SPDX-License-Identifier: Apache-2.0
// Layer normalisation (Ba et al. 2016): out = (x − mean) · rstd · weight + bias with
// rstd = 1/√(variance + eps) per row, the variance divided by H, computed in fp32 and rounded once.
//
// Memory. With N rows of H, and C = block rows (row_blocks.h):
//   forward    allocates out [N,H] and stats [N,2] fp32. Temporaries (workspace): for bf16 weight
//              and bias [H] and rows of [C,H] and [C,1], three of each, in fp32.
//   saved      x, stats (by the caller).
//   backward   overwrites the incoming gradient [N,H] with the gradient of x. Temporaries: two of
//              [H] fp32; for bf16 one more, and four of [C,H] and two of [C] fp32.
#pragma once

#include <ATen/core/Tensor.h>

#include "trainer/ops/norm_result.h"
#include "trainer/parameter.h"

namespace headroom::trainer::ops {

NormResult layer_norm(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                      double eps);

// `grad` [N, H] holds d loss / d out on entry and d loss / d x on return. Adds to the gradients of
// weight and bias, which are trainable both or neither.
void layer_norm_backward_(at::Tensor& grad, const at::Tensor& x, const at::Tensor& stats,
                          Parameter& weight, Parameter& bias);

}  // namespace headroom::trainer::ops
