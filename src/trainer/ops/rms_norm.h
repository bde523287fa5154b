// SPDX-License-Identifier: Apache-2.0
// Root mean square layer normalisation (Zhang and Sennrich 2019): out = x · rstd · weight with
// rstd = 1/√(mean(x²) + eps) per row, computed in fp32 and cast before the weight, as in
// transformers' LlamaRMSNorm. With a unit offset the factor is 1 + weight, in fp32, and the product
// is cast (GemmaRMSNorm).
//
// Memory. With N rows of H, and C = block rows (row_blocks.h):
//   forward    allocates out [N,H] and rstd [N,1] fp32. Temporaries (workspace): for bf16
//              rows of [C,1] and [C,H] fp32; with a unit offset the factor, [H] fp32.
//   saved      x, rstd (by the caller).
//   backward   overwrites the incoming gradient [N,H] with the gradient of x. Temporaries: [H]
//              fp32; for bf16, and with a unit offset, two; for bf16 three [C,H] fp32.
#pragma once

#include <ATen/core/Tensor.h>

#include "trainer/ops/norm_result.h"
#include "trainer/parameter.h"

namespace headroom::trainer::ops {

NormResult rms_norm(const at::Tensor& x, const at::Tensor& weight, double eps,
                    bool unit_offset = false);

// `grad` [N, H] holds d loss / d out on entry and d loss / d x on return. Adds to weight.grad if
// the weight is trainable.
void rms_norm_backward_(at::Tensor& grad, const at::Tensor& x, const at::Tensor& rstd,
                        Parameter& weight, bool unit_offset = false);

}  // namespace headroom::trainer::ops
