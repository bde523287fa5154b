// SPDX-License-Identifier: Apache-2.0
// GELU by the hyperbolic tangent (Hendrycks and Gimpel 2016), transformers' gelu_new and
// gelu_pytorch_tanh: out = x/2 · (1 + tanh(√(2/π) · (x + 0.044715 x³))).
//
// Memory. With N rows of I:
//   forward    allocates out [N,I]; no temporary.
//   saved      x (by the caller).
//   backward   the incoming gradient becomes that of x, in place. No temporary in fp32; otherwise
//              one of [N,I] (workspace).
#pragma once

#include <ATen/core/Tensor.h>

namespace headroom::trainer::ops {

at::Tensor gelu(const at::Tensor& x);

// `grad` holds d loss / d out on entry and d loss / d x on return.
void gelu_backward_(at::Tensor& grad, const at::Tensor& x);

}  // namespace headroom::trainer::ops
