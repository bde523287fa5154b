// SPDX-License-Identifier: Apache-2.0
#include "trainer/ops/rms_norm.h"

#include <ATen/ATen.h>

#include "trainer/kernels/kernels.h"
#include "trainer/ops/row_blocks.h"
#include "trainer/ops/shared_rows.h"
#include "trainer/torch_memory.h"

namespace headroom::trainer::ops {

using allocator::Component;

namespace {

void normalise_rows(const at::Tensor& x, const at::Tensor& weight, double eps,
                    const NormResult& result) {
  const std::int64_t width = x.size(1);
  const float* from = x.data_ptr<float>();
  const float* scale = weight.data_ptr<float>();
  auto* to = result.out.data_ptr<float>();
  auto* rstd = result.stats.data_ptr<float>();
  share_rows(x.size(0), width, [&](std::int64_t first, std::int64_t end) {
    for (std::int64_t i = first; i < end; ++i)
      rstd[i] = kernels::kernels().rms_norm(from + i * width, scale, to + i * width, width,
                                            static_cast<float>(eps));
  });
}

// Threads share the columns, each of which is added up from the first row to the last.
void add_weight_gradient(const at::Tensor& sum, const at::Tensor& grad, const at::Tensor& x,
                         const at::Tensor& rstd) {
  constexpr std::int64_t piece = 64;
  const std::int64_t width = x.size(1);
  const std::int64_t rows = x.size(0);
  auto* to = sum.data_ptr<float>();
  const auto* from = grad.data_ptr<float>();
  const auto* values = x.data_ptr<float>();
  const auto* factors = rstd.data_ptr<float>();
  share_rows((width + piece - 1) / piece, piece * rows, [&](std::int64_t first, std::int64_t end) {
    const std::int64_t start = first * piece;
    const std::int64_t count = std::min(width, end * piece) - start;
    for (std::int64_t i = 0; i < rows; ++i)
      kernels::kernels().add_norm_weight(to + start, from + i * width + start,
                                         values + i * width + start, count, factors[i]);
  });
}

void normalise_rows_backward(const at::Tensor& grad, const at::Tensor& x, const at::Tensor& rstd,
                             const at::Tensor& weight) {
  const std::int64_t width = x.size(1);
  auto* to = grad.data_ptr<float>();
  const auto* values = x.data_ptr<float>();
  const auto* factors = rstd.data_ptr<float>();
  const auto* scale = weight.data_ptr<float>();
  share_rows(x.size(0), width, [&](std::int64_t first, std::int64_t end) {
    for (std::int64_t i = first; i < end; ++i)
      kernels::kernels().rms_norm_backward(to + i * width, values + i * width, scale, width,
                                           factors[i]);
  });
}

// What normed rows are multiplied by, wide; the weight itself where it is that already.
at::Tensor factor_of(const at::Tensor& weight, bool unit_offset) {
  const TagScope scope(Component::workspace);
  return unit_offset
             ? weight.to(wide(weight.scalar_type()), /*non_blocking=*/false, /*copy=*/true).add_(1)
             : widen(weight);
}

}  // namespace

NormResult rms_norm(const at::Tensor& x, const at::Tensor& weight, double eps, bool unit_offset) {
  const std::int64_t rows = x.size(0);
  const auto width = static_cast<double>(x.size(1));
  const at::ScalarType sums = wide(x.scalar_type());
  NormResult result{at::empty_like(x), at::empty({rows, 1}, x.options().dtype(sums))};

  const at::Tensor factor = unit_offset ? factor_of(weight, unit_offset) : weight;
  if (has_kernels(x)) {
    normalise_rows(x, factor, eps, result);
    return result;
  }
  const TagScope scope(Component::workspace);
  for_row_blocks(rows, rows_per_block(x.size(1)), [&](std::int64_t first, std::int64_t count) {
    at::Tensor block = widen(x.narrow(0, first, count));
    at::Tensor rstd = result.stats.narrow(0, first, count);
    at::linalg_vector_norm_out(rstd, block, 2, 1, /*keepdim=*/true);
    rstd.pow_(2).div_(width).add_(eps).rsqrt_();
    at::Tensor out = result.out.narrow(0, first, count);
    if (x.scalar_type() == sums) {
      at::mul_out(out, block, rstd);
    } else if (unit_offset) {
      out.copy_(block.mul_(rstd).mul_(factor));
      return;
    } else {
      out.copy_(block.mul_(rstd));
    }
    out.mul_(factor);
  });
  return result;
}

void rms_norm_backward_(at::Tensor& grad, const at::Tensor& x, const at::Tensor& rstd,
                        Parameter& weight, bool unit_offset) {
  const TagScope scope(Component::workspace);
  const auto width = static_cast<double>(x.size(1));
  const at::Tensor scale = factor_of(weight.value, unit_offset);
  at::Tensor weight_grad;
  if (weight.trainable) weight_grad = at::zeros_like(scale);
  if (has_kernels(grad) && has_kernels(x)) {
    if (weight.trainable) add_weight_gradient(weight_grad, grad, x, rstd);
    normalise_rows_backward(grad, x, rstd, scale);
    if (weight.trainable) add_to_gradient(weight, weight_grad);
    return;
  }

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
