// SPDX-License-Identifier: Apache-2.0
// GeGLU (Shazeer 2020) with Gemma's gelu_pytorch_tanh (gelu.h): out = gelu(gate) · up.
//
// Memory. With N rows of I:
//   forward    allocates out [N,I]; no temporary.
//   saved      gate and up (by the caller).
//   backward   allocates the gradient of up [N,I] (workspace); the incoming gradient becomes that
//              of gate, in place. No other temporary in fp32; otherwise one of [N,I] (workspace).
#pragma once

#include <ATen/core/Tensor.h>

namespace headroom::trainer::ops {

at::Tensor geglu(const at::Tensor& gate, const at::Tensor& up);

// `grad` holds d loss / d out on entry and d loss / d gate on return; returns d loss / d up.
at::Tensor geglu_backward_(at::Tensor& grad, const at::Tensor& gate, const at::Tensor& up);

}  // namespace headroom::trainer::ops
