// SPDX-License-Identifier: Apache-2.0
// What both attention variants share: the walk over heads, and one head of one sample as a strided
// [length, head_dim] view that products read and write, so that no head is ever copied to make it
// contiguous.
#pragma once

#include <ATen/ATen.h>

#include <cmath>
#include <cstdint>

#include "trainer/ops/attention.h"
#include "trainer/ops/product.h"
#include "trainer/ops/row_blocks.h"

namespace headroom::trainer::ops {

inline at::Tensor head_view(const at::Tensor& rows, const AttentionShape& shape,
                            const Segment& sample, std::int64_t head) {
  const std::int64_t stride = rows.stride(0);
  return rows.as_strided({sample.length, shape.head_dim}, {stride, 1},
                         rows.storage_offset() + sample.first * stride + head * shape.head_dim);
}

inline Qkv make_gradients(const Qkv& in, const AttentionShape& shape) {
  if (in.all.defined()) return share_columns(at::empty_like(in.all), shape);
  return {at::empty_like(in.q), at::empty_like(in.k), at::empty_like(in.v)};
}

inline double score_scale(const AttentionShape& shape) {
  return 1.0 / std::sqrt(shape.query_scalar > 0 ? shape.query_scalar
                                                : static_cast<double>(shape.head_dim));
}

// Keys that a query sees, whether they are all before it or those of its window.
inline std::int64_t seen_keys(const AttentionShape& shape) {
  return shape.windowed() ? shape.window : shape.sequence;
}

// The temporary of every product of a pass, which are of [·,D]·[D,S] and of [·,S]·[S,D].
inline at::Tensor attention_space(const AttentionShape& shape, const at::TensorOptions& factor) {
  const bool flat = estimate::attention_space_is_flat(static_cast<std::uint64_t>(shape.sequence),
                                                      static_cast<std::uint64_t>(shape.head_dim));
  return flat ? product_space(shape.head_dim, shape.sequence, factor)
              : product_space(shape.sequence, shape.head_dim, factor);
}

// target = alpha · left · right, whatever target's strides; wide factors into a narrow target go
// through a temporary of target's size.
inline void write_product(const at::Tensor& space, const at::Tensor& target, const at::Tensor& left,
                          const at::Tensor& right, double alpha) {
  if (target.scalar_type() == left.scalar_type()) {
    product_in(space, target, left, right, {.alpha = alpha});
  } else {
    const at::Tensor wide = at::empty(target.sizes(), left.options());
    product_in(space, wide, left, right, {.alpha = alpha});
    target.copy_(wide);
  }
}

// One query head's rows in the tensors of a pass.
struct QueryHead {
  at::Tensor q;    // [length, head_dim]
  at::Tensor out;  // [length, head_dim]
};

inline QueryHead query_head(const Qkv& in, const AttentionResult& result,
                            const AttentionShape& shape, const Segment& sample, std::int64_t head) {
  return {head_view(in.q, shape, sample, head), head_view(result.out, shape, sample, head)};
}

// What `efficient` has saved of a head. [length, 1]
inline at::Tensor logsumexp_of(const AttentionResult& result, const AttentionShape& shape,
                               const Segment& sample, std::int64_t head) {
  const std::int64_t first = sample.first * shape.heads + head * sample.length;
  return result.saved.narrow(0, first, sample.length).unsqueeze(1);
}

// What `math` has. [length, length]
inline at::Tensor probabilities_of(const AttentionResult& result, const AttentionShape& shape,
                                   const Segment& sample, std::int64_t head) {
  const std::int64_t square = sample.length * sample.length;
  return result.saved.narrow(0, sample.scores * shape.heads + head * square, square)
      .view({sample.length, sample.length});
}

// One key/value head, wide: views in fp32 and fp64, copies in bf16. [length, head_dim]
struct KvHead {
  at::Tensor k;
  at::Tensor v;
};

inline KvHead kv_head(const Qkv& in, const AttentionShape& shape, const Segment& sample,
                      std::int64_t head) {
  return {widen(head_view(in.k, shape, sample, head)), widen(head_view(in.v, shape, sample, head))};
}

// The gradients of one key/value head, added up over its query heads. In fp32 and fp64 they are
// views into dk and dv; in bf16 they are temporaries that store() rounds once.
class KvGradient {
 public:
  KvGradient(const Qkv& grads, const AttentionShape& shape, const Segment& sample,
             std::int64_t head)
      : k_rows_(head_view(grads.k, shape, sample, head)),
        v_rows_(head_view(grads.v, shape, sample, head)),
        sum_{start(k_rows_), start(v_rows_)} {}

  const KvHead& sum() const { return sum_; }

  void store() const {
    if (sum_.k.is_alias_of(k_rows_)) return;
    k_rows_.copy_(sum_.k);
    v_rows_.copy_(sum_.v);
  }

 private:
  static at::Tensor start(const at::Tensor& rows) {
    const at::ScalarType sums = wide(rows.scalar_type());
    if (rows.scalar_type() == sums) return rows.zero_();
    return at::zeros(rows.sizes(), rows.options().dtype(sums));
  }

  at::Tensor k_rows_;
  at::Tensor v_rows_;
  KvHead sum_;
};

// Calls work(sample, key/value head, first query head of its group, end of the group).
template <class Work>
void for_kv_heads(const AttentionShape& shape, const Work& work) {
  const std::int64_t group = shape.heads / shape.kv_heads;
  for (const Segment& sample : shape.segments()) {
    for (std::int64_t head = 0; head < shape.kv_heads; ++head) {
      work(sample, head, head * group, (head + 1) * group);
    }
  }
}

}  // namespace headroom::trainer::ops
