// SPDX-License-Identifier: Apache-2.0
#include "trainer/ops/swiglu.h"

#include <ATen/ATen.h>

#include "trainer/torch_memory.h"

namespace headroom::trainer::ops {

at::Tensor swiglu(const at::Tensor& gate, const at::Tensor& up) {
  at::Tensor out = at::silu(gate);
  out.mul_(up);
  return out;
}

at::Tensor swiglu_backward_(at::Tensor& grad, const at::Tensor& gate, const at::Tensor& up) {
  const TagScope scope(allocator::Component::workspace);
  at::Tensor up_grad = at::silu(gate);
  up_grad.mul_(grad);
  grad.mul_(up);
  at::silu_backward_out(grad, grad, gate);
  return up_grad;
}

}  // namespace headroom::trainer::ops
