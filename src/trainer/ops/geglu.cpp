// SPDX-License-Identifier: Apache-2.0
#include "trainer/ops/geglu.h"

#include <ATen/ATen.h>

#include "trainer/kernels/kernels.h"
#include "trainer/ops/gelu.h"
#include "trainer/ops/shared_rows.h"
#include "trainer/torch_memory.h"

namespace headroom::trainer::ops {

namespace {

at::Tensor geglu_numbers(const at::Tensor& gate, const at::Tensor& up) {
  at::Tensor out = at::empty_like(gate);
  auto* to = out.data_ptr<float>();
  const auto* gates = gate.data_ptr<float>();
  const auto* ups = up.data_ptr<float>();
  share_numbers(out.numel(), [&](std::int64_t first, std::int64_t count) {
    kernels::kernels().geglu(to + first, gates + first, ups + first, count);
  });
  return out;
}

at::Tensor geglu_numbers_backward(const at::Tensor& grad, const at::Tensor& gate,
                                  const at::Tensor& up) {
  at::Tensor up_grad = at::empty_like(up);
  auto* gate_grads = grad.data_ptr<float>();
  auto* up_grads = up_grad.data_ptr<float>();
  const auto* gates = gate.data_ptr<float>();
  const auto* ups = up.data_ptr<float>();
  share_numbers(grad.numel(), [&](std::int64_t first, std::int64_t count) {
    kernels::kernels().geglu_backward(gate_grads + first, up_grads + first, gates + first,
                                      ups + first, count);
  });
  return up_grad;
}

}  // namespace

at::Tensor geglu(const at::Tensor& gate, const at::Tensor& up) {
  if (has_kernels(gate) && has_kernels(up)) return geglu_numbers(gate, up);
  return ops::gelu(gate).mul_(up);
}

at::Tensor geglu_backward_(at::Tensor& grad, const at::Tensor& gate, const at::Tensor& up) {
  const TagScope scope(allocator::Component::workspace);
  if (has_kernels(grad) && has_kernels(gate) && has_kernels(up))
    return geglu_numbers_backward(grad, gate, up);
  at::Tensor up_grad = ops::gelu(gate);
  up_grad.mul_(grad);
  grad.mul_(up);
  gelu_backward_(grad, gate);
  return up_grad;
}

}  // namespace headroom::trainer::ops
