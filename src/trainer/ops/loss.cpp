// SPDX-License-Identifier: Apache-2.0
#include "trainer/ops/loss.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <numeric>

#include "estimate/headroom_engine.h"
#include "trainer/kernels/kernels.h"
#include "trainer/ops/product.h"
#include "trainer/ops/row_blocks.h"
#include "trainer/ops/shared_rows.h"
#include "trainer/torch_memory.h"

namespace headroom::trainer::ops {
namespace {

using allocator::Component;

at::Tensor logits_of(const at::Tensor& x, const at::Tensor& weight) {
  const TagScope scope(Component::logits);
  return product(x, weight.t());
}

// Rows of logits at a time for `x` [N, H] and a head [V, H].
std::int64_t chunk_rows(const at::Tensor& x, const at::Tensor& head) {
  return static_cast<std::int64_t>(estimate::loss_chunk_rows(
      static_cast<std::uint64_t>(x.size(0)), static_cast<std::uint64_t>(x.size(1)),
      static_cast<std::uint64_t>(head.size(0))));
}

// cap · tanh(block / cap) in place, of a wide block; writes its slope 1 − tanh² to `slopes`.
void cap_block(at::Tensor& block, double cap, at::Tensor& slopes) {
  if (!has_kernels(block)) {
    block.div_(cap).tanh_();
    at::mul_out(slopes, block, block).neg_().add_(1);
    block.mul_(cap);
    return;
  }
  auto* from = block.data_ptr<float>();
  auto* to = slopes.data_ptr<float>();
  share_numbers(block.numel(), [&](std::int64_t first, std::int64_t count) {
    kernels::kernels().soft_cap(from + first, to + first, count, static_cast<float>(cap));
  });
}

// cross_entropy_() of a block of fp32. The losses of rows are added in their order.
double cross_entropy_rows(const at::Tensor& block, const at::Tensor& targets, double scale) {
  const std::int64_t width = block.size(1);
  const at::Tensor losses = at::empty({block.size(0)}, at::kDouble);
  auto* loss = losses.data_ptr<double>();
  auto* rows = block.data_ptr<float>();
  const auto* target = targets.data_ptr<std::int64_t>();
  share_rows(block.size(0), width, [&](std::int64_t first, std::int64_t end) {
    for (std::int64_t i = first; i < end; ++i) {
      float* row = rows + i * width;
      loss[i] = 0;
      if (target[i] == ignored_target) {
        std::fill(row, row + width, 0.0F);
        continue;
      }
      const float chosen = row[target[i]];
      const auto factor = static_cast<float>(scale);
      loss[i] = double{kernels::kernels().softmax(row, width, factor)} - double{chosen};
      row[target[i]] -= factor;
    }
  });
  return std::accumulate(loss, loss + block.size(0), 0.0);
}

// The same of a block of any wide type, by libtorch.
double cross_entropy_block(at::Tensor& block, const at::Tensor& targets, double scale) {
  const at::Tensor target = targets.unsqueeze(1);
  const at::Tensor counts = (target != ignored_target).to(block.scalar_type());
  const at::Tensor index = target.clamp_min(0);

  const at::Tensor largest = block.amax(1, /*keepdim=*/true);
  const at::Tensor chosen = block.gather(1, index);
  const at::Tensor sum = block.sub_(largest).exp_().sum(1, /*keepdim=*/true);
  const at::Tensor loss = sum.log().add_(largest).sub_(chosen).mul_(counts);

  // softmax − one at the target, times scale; zero in rows that do not count.
  const at::Tensor factor = counts * scale;
  block.mul_(factor / sum);
  block.scatter_add_(1, index, factor.neg());
  return loss.sum(at::kDouble).item<double>();
}

}  // namespace

void soft_cap_(at::Tensor& logits, double cap) {
  const TagScope scope(Component::workspace);
  for_row_blocks(logits.size(0), rows_per_block(logits.size(1)),
                 [&](std::int64_t first, std::int64_t count) {
                   at::Tensor narrow = logits.narrow(0, first, count);
                   at::Tensor block = widen(narrow);
                   at::Tensor slopes = at::empty_like(block);
                   cap_block(block, cap, slopes);
                   if (!block.is_alias_of(narrow)) narrow.copy_(block);
                 });
}

double cross_entropy_(at::Tensor& logits, const at::Tensor& targets, double scale, double cap) {
  const TagScope scope(Component::workspace);
  double total = 0;
  for_row_blocks(logits.size(0), rows_per_block(logits.size(1)),
                 [&](std::int64_t first, std::int64_t count) {
                   at::Tensor narrow = logits.narrow(0, first, count);
                   at::Tensor block = widen(narrow);
                   at::Tensor slopes;
                   if (cap > 0) {
                     slopes = at::empty_like(block);
                     cap_block(block, cap, slopes);
                   }
                   const at::Tensor target = targets.narrow(0, first, count);
                   total += has_kernels(block) ? cross_entropy_rows(block, target, scale)
                                               : cross_entropy_block(block, target, scale);
                   if (cap > 0) block.mul_(slopes);
                   if (!block.is_alias_of(narrow)) narrow.copy_(block);
                 });
  return total;
}

LossResult eager_loss(const LossInput& in, Parameter& head) {
  LossResult result;
  at::Tensor logits = logits_of(in.x, head.value);
  result.sum = cross_entropy_(logits, in.targets, in.scale, in.cap);
  if (head.trainable) add_product_to_gradient(head, logits.t(), in.x);
  const TagScope scope(Component::workspace);
  result.dx = product(logits, head.value);
  return result;
}

LossResult chunked_loss(const LossInput& in, Parameter& head) {
  LossResult result;
  {
    const TagScope scope(Component::workspace);
    result.dx = at::empty_like(in.x);
  }
  const std::int64_t rows = in.x.size(0);
  for_row_blocks(rows, chunk_rows(in.x, head.value), [&](std::int64_t first, std::int64_t count) {
    const at::Tensor x = in.x.narrow(0, first, count);
    at::Tensor logits = logits_of(x, head.value);
    result.sum += cross_entropy_(logits, in.targets.narrow(0, first, count), in.scale, in.cap);
    if (head.trainable) add_product_to_gradient(head, logits.t(), x);
    product_(result.dx.narrow(0, first, count), logits, head.value);
  });
  return result;
}

double evaluate_loss(const LossInput& in, const Parameter& head) {
  double sum = 0;
  const std::int64_t rows = in.x.size(0);
  for_row_blocks(rows, chunk_rows(in.x, head.value), [&](std::int64_t first, std::int64_t count) {
    at::Tensor logits = logits_of(in.x.narrow(0, first, count), head.value);
    sum += cross_entropy_(logits, in.targets.narrow(0, first, count), in.scale, in.cap);
  });
  return sum;
}

}  // namespace headroom::trainer::ops
