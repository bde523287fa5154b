// SPDX-License-Identifier: Apache-2.0
#include "trainer/ops/rms_norm.h"

#include <ATen/ATen.h>

#include "trainer/ops/row_blocks.h"
#include "trainer/torch_memory.h"

namespace headroom::trainer::ops {

using allocator::Component;

RmsNormResult rms_norm(const at::Tensor& x, const at::Tensor& weight, double eps) {
  const std::int64_t rows = x.size(0);
  const auto width = static_cast<double>(x.size(1));
  const at::ScalarType sums = wide(x.scalar_type());
  RmsNormResult result{at::empty_like(x), at::empty({rows, 1}, x.options().dtype(sums))};

  const TagScope scope(Component::workspace);
  for_row_blocks(rows, rows_per_block(x.size(1)), [&](std::int64_t first, std::int64_t count) {
    at::Tensor block = widen(x.narrow(0, first, count));
    at::Tensor rstd = result.rstd.narrow(0, first, count);
    at::linalg_vector_norm_out(rstd, block, 2, 1, /*keepdim=*/true);
    rstd.pow_(2).div_(width).add_(eps).rsqrt_();
    at::Tensor out = result.out.narrow(0, first, count);
    if (x.scalar_type() == sums) {
      at::mul_out(out, block, rstd);
    } else {
      out.copy_(block.mul_(rstd));
    }
    out.mul_(weight);
  });
  return result;
}

void rms_norm_backward_(at::Tensor& grad, const at::Tensor& x, const at::Tensor& rstd,
                        Parameter& weight) {
  const TagScope scope(Component::workspace);
  const auto width = static_cast<double>(x.size(1));
  const at::Tensor scale = widen(weight.value);
  at::Tensor weight_grad;
  if (weight.trainable) weight_grad = at::zeros_like(scale);

  for_row_blocks(x.size(0), rows_per_block(x.size(1)), [&](std::int64_t first, std::int64_t count) {
    const at::Tensor block_rstd = rstd.narrow(0, first, count);
    const at::Tensor normed = widen(x.narrow(0, first, count)) * block_rstd;
    at::Tensor narrow = grad.narrow(0, first, count);
    at::Tensor block = widen(narrow);
    const at::Tensor product = block * normed;
    if (weight.trainable) weight_grad.add_(product.sum(0));
    // dx = rstd · (g·w − normed · mean(g·w·normed))
    const at::Tensor mean = at::mv(product, scale).div_(width).unsqueeze(1);
    block.mul_(scale).addcmul_(normed, mean, -1).mul_(block_rstd);
    if (!block.is_alias_of(narrow)) narrow.copy_(block);
  });
  if (weight.trainable) add_to_gradient(weight, weight_grad);
}

}  // namespace headroom::trainer::ops
