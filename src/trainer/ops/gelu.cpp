// SPDX-License-Identifier: Apache-2.0
#include "trainer/ops/gelu.h"

#include <ATen/ATen.h>

#include "trainer/kernels/kernels.h"
#include "trainer/ops/shared_rows.h"
#include "trainer/torch_memory.h"

namespace headroom::trainer::ops {

at::Tensor gelu(const at::Tensor& x) {
  if (!has_kernels(x)) return at::gelu(x, "tanh");
  at::Tensor out = at::empty_like(x);
  auto* to = out.data_ptr<float>();
  const auto* from = x.data_ptr<float>();
  share_numbers(out.numel(), [&](std::int64_t first, std::int64_t count) {
    kernels::kernels().gelu(to + first, from + first, count);
  });
  return out;
}

void gelu_backward_(at::Tensor& grad, const at::Tensor& x) {
  if (!has_kernels(grad) || !has_kernels(x)) {
    const TagScope scope(allocator::Component::workspace);
    grad.copy_(at::gelu_backward(grad, x, "tanh"));
    return;
  }
  auto* grads = grad.data_ptr<float>();
  const auto* from = x.data_ptr<float>();
  share_numbers(grad.numel(), [&](std::int64_t first, std::int64_t count) {
    kernels::kernels().gelu_backward(grads + first, from + first, count);
  });
}

}  // namespace headroom::trainer::ops
