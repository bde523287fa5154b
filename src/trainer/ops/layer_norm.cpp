// SPDX-License-Identifier: Apache-2.0
#include "trainer/ops/layer_norm.h"

#include <ATen/ATen.h>

#include "trainer/kernels/kernels.h"
#include "trainer/ops/row_blocks.h"
#include "trainer/ops/shared_rows.h"
#include "trainer/torch_memory.h"

namespace headroom::trainer::ops {
namespace {

using allocator::Component;

void normalise_rows(const at::Tensor& x, const kernels::NormWeights& weights, float eps,
                    const NormResult& result) {
  const std::int64_t width = x.size(1);
  const auto* from = x.data_ptr<float>();
  auto* to = result.out.data_ptr<float>();
  auto* stats = result.stats.data_ptr<float>();
  share_rows(x.size(0), width, [&](std::int64_t first, std::int64_t end) {
    for (std::int64_t i = first; i < end; ++i) {
      const kernels::RowStats row =
          kernels::kernels().layer_norm(from + i * width, weights, to + i * width, width, eps);
      stats[2 * i] = row.mean;
      stats[2 * i + 1] = row.rstd;
    }
  });
}

// Threads share the columns, each of which is added up from the first row to the last.
void add_weight_gradients(const at::Tensor& weight_sum, const at::Tensor& bias_sum,
                          const at::Tensor& grad, const at::Tensor& x, const at::Tensor& stats) {
  constexpr std::int64_t piece = 64;
  const std::int64_t width = x.size(1);
  const std::int64_t rows = x.size(0);
  auto* weights = weight_sum.data_ptr<float>();
  auto* biases = bias_sum.data_ptr<float>();
  const auto* from = grad.data_ptr<float>();
  const auto* values = x.data_ptr<float>();
  const auto* of_rows = stats.data_ptr<float>();
  share_rows((width + piece - 1) / piece, piece * rows, [&](std::int64_t first, std::int64_t end) {
    const std::int64_t start = first * piece;
    const std::int64_t count = std::min(width, end * piece) - start;
    for (std::int64_t i = 0; i < rows; ++i)
      kernels::kernels().add_layer_norm_weights(
          {weights + start, biases + start}, from + i * width + start, values + i * width + start,
          count, {of_rows[2 * i], of_rows[2 * i + 1]});
  });
}

void normalise_rows_backward(const at::Tensor& grad, const at::Tensor& x, const at::Tensor& stats,
                             const at::Tensor& weight) {
  const std::int64_t width = x.size(1);
  auto* to = grad.data_ptr<float>();
  const auto* values = x.data_ptr<float>();
  const auto* of_rows = stats.data_ptr<float>();
  const auto* scale = weight.data_ptr<float>();
  share_rows(x.size(0), width, [&](std::int64_t first, std::int64_t end) {
    for (std::int64_t i = first; i < end; ++i)
      kernels::kernels().layer_norm_backward(to + i * width, values + i * width, scale, width,
                                             {of_rows[2 * i], of_rows[2 * i + 1]});
  });
}

// In fp64 and bf16. `weight_sum` and `bias_sum` are undefined if they do not train.
void normalise_blocks_backward(at::Tensor& grad, const at::Tensor& x, const at::Tensor& stats,
                               const at::Tensor& scale, at::Tensor& weight_sum,
                               at::Tensor& bias_sum) {
  const auto width = static_cast<double>(x.size(1));
  for_row_blocks(x.size(0), rows_per_block(x.size(1)), [&](std::int64_t first, std::int64_t count) {
    const at::Tensor rows = stats.narrow(0, first, count);
    const at::Tensor rstd = rows.narrow(1, 1, 1);
    const at::Tensor normed = (widen(x.narrow(0, first, count)) - rows.narrow(1, 0, 1)).mul_(rstd);
    at::Tensor narrow = grad.narrow(0, first, count);
    at::Tensor block = widen(narrow);
    const at::Tensor product = block * normed;
    if (weight_sum.defined()) {
      weight_sum.add_(product.sum(0));
      bias_sum.add_(block.sum(0));
    }
    // dx = rstd · (g·w − mean(g·w) − normed · mean(g·w·normed))
    const at::Tensor pull = at::mv(product, scale).div_(width).unsqueeze(1);
    const at::Tensor level = at::mv(block, scale).div_(width).unsqueeze(1);
    block.mul_(scale).sub_(level).addcmul_(normed, pull, -1).mul_(rstd);
    if (!block.is_alias_of(narrow)) narrow.copy_(block);
  });
}

}  // namespace

NormResult layer_norm(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                      double eps) {
  const std::int64_t rows = x.size(0);
  const at::ScalarType sums = wide(x.scalar_type());
  NormResult result{at::empty_like(x), at::empty({rows, 2}, x.options().dtype(sums))};
  if (has_kernels(x)) {
    normalise_rows(x, {weight.data_ptr<float>(), bias.data_ptr<float>()}, static_cast<float>(eps),
                   result);
    return result;
  }
  const TagScope scope(Component::workspace);
  const at::Tensor scale = widen(weight);
  const at::Tensor shift = widen(bias);
  for_row_blocks(rows, rows_per_block(x.size(1)), [&](std::int64_t first, std::int64_t count) {
    const at::Tensor block = widen(x.narrow(0, first, count));
    const at::Tensor stats = result.stats.narrow(0, first, count);
    const at::Tensor mean = block.mean(1, /*keepdim=*/true);
    at::Tensor centred = block - mean;
    const at::Tensor rstd = (centred * centred).mean(1, /*keepdim=*/true).add_(eps).rsqrt_();
    stats.narrow(1, 0, 1).copy_(mean);
    stats.narrow(1, 1, 1).copy_(rstd);
    result.out.narrow(0, first, count).copy_(centred.mul_(rstd).mul_(scale).add_(shift));
  });
  return result;
}

void layer_norm_backward_(at::Tensor& grad, const at::Tensor& x, const at::Tensor& stats,
                          Parameter& weight, Parameter& bias) {
  const TagScope scope(Component::workspace);
  const at::Tensor scale = widen(weight.value);
  at::Tensor weight_sum;
  at::Tensor bias_sum;
  if (weight.trainable) {
    weight_sum = at::zeros_like(scale);
    bias_sum = at::zeros_like(scale);
  }
  if (has_kernels(grad) && has_kernels(x)) {
    if (weight.trainable) add_weight_gradients(weight_sum, bias_sum, grad, x, stats);
    normalise_rows_backward(grad, x, stats, weight.value);
  } else {
    normalise_blocks_backward(grad, x, stats, scale, weight_sum, bias_sum);
  }
  if (!weight.trainable) return;
  add_to_gradient(weight, weight_sum);
  add_to_gradient(bias, bias_sum);
}

}  // namespace headroom::trainer::ops
