// SPDX-License-Identifier: Apache-2.0
// Attention that keeps the probabilities of every head: quadratic memory, no recomputation.
#include "trainer/ops/attention.h"
#include "trainer/ops/attention_heads.h"
#include "trainer/ops/score_rows.h"
#include "trainer/torch_memory.h"

namespace headroom::trainer::ops {
namespace {

using allocator::Component;

Sight whole_sight(const AttentionShape& shape) {
  return {0, 0, seen_keys(shape)};
}

// The start of a buffer of [S·S] as the scores of one sample.
at::Tensor scores_of(const at::Tensor& buffer, const Segment& sample) {
  return buffer.narrow(0, 0, sample.length * sample.length).view({sample.length, sample.length});
}

// What one head's backward pass works in.
struct HeadSpace {
  double scale;
  double cap;
  Sight sight;
  at::Tensor space;    // Of the products.
  at::Tensor dscores;  // [length, length]
};

// Of one query head: what forward saved, d out, and where d q goes.
struct HeadGradient {
  at::Tensor probabilities, grad, dq;
};

// Adds one query head's part to the gradients of its keys and values, and writes `dq`.
void backward_head(const QueryHead& head, const KvHead& kv, const KvHead& kv_grad,
                   const HeadGradient& of, const HeadSpace& in) {
  const auto& [probabilities, grad, dq] = of;
  const at::Tensor q = widen(head.q);
  const at::Tensor dout = widen(grad);
  const at::Tensor weights = widen(probabilities);
  product_in(in.space, kv_grad.v, weights.t(), dout, {.beta = 1});
  if (in.cap > 0) {
    // Of the softmax p · (dp − Σ dp·p), of the cap its slope: p takes the latter up beforehand.
    product_in(in.space, in.dscores, q, kv.k.t(), {.alpha = in.scale});
    soft_cap_rows(in.dscores, in.sight, in.cap, in.dscores);
    weigh_rows(weights, in.sight, in.dscores);
  }
  product_in(in.space, in.dscores, dout, kv.v.t());
  softmax_rows_backward(in.dscores, in.sight, weights, dout, widen(head.out));
  write_product(in.space, dq, in.dscores, kv.k, in.scale);
  product_in(in.space, kv_grad.k, in.dscores.t(), q, {.beta = 1, .alpha = in.scale});
}

}  // namespace

Qkv share_columns(at::Tensor all, const AttentionShape& shape) {
  const std::int64_t query = shape.heads * shape.head_dim;
  const std::int64_t kv = shape.kv_heads * shape.head_dim;
  Qkv parts{all.narrow(1, 0, query), all.narrow(1, query, kv), all.narrow(1, query + kv, kv)};
  parts.all = std::move(all);
  return parts;
}

AttentionResult attention_math(const Qkv& in, const AttentionShape& shape) {
  const Segment last = shape.segments().back();
  AttentionResult result{
      at::empty_like(in.q),
      at::empty({(last.scores + last.length * last.length) * shape.heads}, in.q.options())};
  const TagScope scope(Component::workspace);
  const at::ScalarType sums = wide(in.q.scalar_type());
  const Sight sight = whole_sight(shape);
  const at::TensorOptions wide_options = in.q.options().dtype(sums);
  const at::Tensor space = attention_space(shape, wide_options);
  at::Tensor copy;
  if (in.q.scalar_type() != sums) copy = at::empty({shape.sequence * shape.sequence}, wide_options);
  for_kv_heads(shape, [&](const Segment& sample, std::int64_t kv_index, std::int64_t first,
                          std::int64_t end) {
    const KvHead kv = kv_head(in, shape, sample, kv_index);
    for (std::int64_t index = first; index < end; ++index) {
      const QueryHead head = query_head(in, result, shape, sample, index);
      const at::Tensor kept = probabilities_of(result, shape, sample, index);
      const at::Tensor weights = copy.defined() ? scores_of(copy, sample) : kept;
      product_in(space, weights, widen(head.q), kv.k.t(), {.alpha = score_scale(shape)});
      if (shape.cap > 0) soft_cap_rows(weights, sight, shape.cap, {});
      softmax_rows(weights, sight, {});
      if (copy.defined()) kept.copy_(weights);
      write_product(space, head.out, weights, kv.v, 1);
    }
  });
  return result;
}

Qkv attention_math_backward(const at::Tensor& grad, const Qkv& in, const AttentionResult& result,
                            const AttentionShape& shape) {
  const TagScope scope(Component::workspace);
  Qkv grads = make_gradients(in, shape);
  const at::TensorOptions wide_options = in.q.options().dtype(wide(in.q.scalar_type()));
  const at::Tensor products = attention_space(shape, wide_options);
  const at::Tensor dscores = at::empty({shape.sequence * shape.sequence}, wide_options);
  for_kv_heads(shape, [&](const Segment& sample, std::int64_t kv_index, std::int64_t first,
                          std::int64_t end) {
    const KvHead kv = kv_head(in, shape, sample, kv_index);
    const KvGradient kv_grad(grads, shape, sample, kv_index);
    const HeadSpace space{score_scale(shape), shape.cap, whole_sight(shape), products,
                          scores_of(dscores, sample)};
    for (std::int64_t index = first; index < end; ++index) {
      backward_head(
          query_head(in, result, shape, sample, index), kv, kv_grad.sum(),
          {probabilities_of(result, shape, sample, index), head_view(grad, shape, sample, index),
           head_view(grads.q, shape, sample, index)},
          space);
    }
    kv_grad.store();
  });
  return grads;
}

}  // namespace headroom::trainer::ops
