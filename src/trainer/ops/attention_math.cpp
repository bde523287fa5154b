// SPDX-License-Identifier: Apache-2.0
// Attention that keeps the probabilities of every head: quadratic memory, no recomputation.
#include "trainer/ops/attention.h"
#include "trainer/ops/attention_heads.h"
#include "trainer/torch_memory.h"

namespace headroom::trainer::ops {
namespace {

using allocator::Component;

// scores [S, S] = softmax(scale · q · kᵀ), −∞ where a key is hidden.
void masked_softmax(const at::Tensor& scores, const at::Tensor& q, const at::Tensor& k,
                    const at::Tensor& hidden) {
  scores.addmm_(q, k.t(), 0, 1.0 / std::sqrt(static_cast<double>(q.size(1))));
  scores.masked_fill_(hidden, -INFINITY);
  scores.sub_(scores.amax(1, /*keepdim=*/true)).exp_();
  scores.div_(scores.sum(1, /*keepdim=*/true));
}

// Adds one query head's part to the gradients of its keys and values, and writes `dq`.
// `dscores` is a buffer [S, S].
void backward_head(const QueryHead& head, const KvHead& kv, const KvHead& kv_grad,
                   const std::array<at::Tensor, 2>& grad_and_dq, const at::Tensor& dscores) {
  const auto& [grad, dq] = grad_and_dq;
  const double scale = 1.0 / std::sqrt(static_cast<double>(head.q.size(1)));
  const at::Tensor q = widen(head.q);
  const at::Tensor dout = widen(grad);
  const at::Tensor weights = widen(head.saved);
  kv_grad.v.addmm_(weights.t(), dout);
  dscores.addmm_(dout, kv.v.t(), 0);
  // d softmax: p · (dp − Σ dp·p), and Σ dp·p = Σ dout·out.
  dscores.sub_((dout * head.out).sum(1, /*keepdim=*/true)).mul_(weights);
  write_product(dq, dscores, kv.k, scale);
  kv_grad.k.addmm_(dscores.t(), q, 1, scale);
}

}  // namespace

AttentionResult attention_math(const Qkv& in, const AttentionShape& shape) {
  const std::int64_t length = shape.sequence;
  AttentionResult result{at::empty_like(in.q),
                         at::empty({shape.batch * shape.heads, length, length}, in.q.options())};
  const TagScope scope(Component::workspace);
  const at::ScalarType sums = wide(in.q.scalar_type());
  const at::Tensor hidden = hidden_mask(shape);
  at::Tensor copy;
  if (in.q.scalar_type() != sums) copy = at::empty({length, length}, in.q.options().dtype(sums));
  for_kv_heads(
      shape, [&](std::int64_t sample, std::int64_t kv_index, std::int64_t first, std::int64_t end) {
        const KvHead kv = kv_head(in, shape, sample, kv_index);
        for (std::int64_t index = first; index < end; ++index) {
          const QueryHead head = query_head(in, result, shape, sample, index);
          const at::Tensor& weights = copy.defined() ? copy : head.saved;
          masked_softmax(weights, widen(head.q), kv.k, hidden);
          if (copy.defined()) head.saved.copy_(copy);
          write_product(head.out, weights, kv.v, 1);
        }
      });
  return result;
}

Qkv attention_math_backward(const at::Tensor& grad, const Qkv& in, const AttentionResult& result,
                            const AttentionShape& shape) {
  const TagScope scope(Component::workspace);
  Qkv grads{at::empty_like(in.q), at::empty_like(in.k), at::empty_like(in.v)};
  const at::Tensor dscores =
      at::empty({shape.sequence, shape.sequence}, in.q.options().dtype(wide(in.q.scalar_type())));
  for_kv_heads(
      shape, [&](std::int64_t sample, std::int64_t kv_index, std::int64_t first, std::int64_t end) {
        const KvHead kv = kv_head(in, shape, sample, kv_index);
        const KvGradient kv_grad(grads, shape, sample, kv_index);
        for (std::int64_t index = first; index < end; ++index) {
          backward_head(
              query_head(in, result, shape, sample, index), kv, kv_grad.sum(),
              {head_view(grad, shape, sample, index), head_view(grads.q, shape, sample, index)},
              dscores);
        }
        kv_grad.store();
      });
  return grads;
}

}  // namespace headroom::trainer::ops
