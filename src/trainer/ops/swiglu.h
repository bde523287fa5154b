// SPDX-License-Identifier: Apache-2.0
// SwiGLU (Shazeer 2020): out = silu(gate) · up.
//
// Memory. With N rows of I:
//   forward    allocates out [N,I]; no temporary.
//   saved      gate and up (by the caller).
//   backward   allocates the gradient of up [N,I] (workspace); the incoming gradient becomes that
//              of gate, in place. No other temporary.
#pragma once

#include <ATen/core/Tensor.h>

namespace headroom::trainer::ops {

at::Tensor swiglu(const at::Tensor& gate, const at::Tensor& up);

// `grad` holds d loss / d out on entry and d loss / d gate on return; returns d loss / d up.
at::Tensor swiglu_backward_(at::Tensor& grad, const at::Tensor& gate, const at::Tensor& up);

}  // namespace headroom::trainer::ops
