// SPDX-License-Identifier: Apache-2.0
// Causal self-attention with grouped key/value heads, in two variants of one interface: `math`
// keeps every probability, `efficient` keeps one number per row and computes the rest again.
//
// Samples are padded on the right. A padded key stands behind every real query, so the causal mask
// already hides it, and no mask of its own is needed; what padded queries yield is dropped by the
// loss, and their gradient is zero. With a window of W, query i sees the keys i − W + 1 to i
// (transformers' sliding_window_overlay); it needs no memory of its own, and `efficient` does not
// compute what lies before a block's first window.
//
// Samples may lie end to end instead, without padding (AttentionShape::cu_seqlens): each is a block
// of the diagonal, and nothing else is computed.
//
// With a cap, scores are cap · tanh(score / cap) (Gemma 2's attn_logit_softcapping). That needs no
// memory of its own either: backward computes them again, which in `math` is one more product, and
// their slopes lie where the gradient of the scores will be. In `math` it uses up `saved`.
//
// Memory. N rows, A heads, G key/value heads of D; S = sequence; wide = fp32 (fp64 for fp64).
// "Copies": for bf16 only, K, V [S,D] and blocks of rows [C,D] in fp32.
//   math       forward allocates out [N,A·D] and probabilities [A·Σ length²] in the dtype of
//              q.
//              Temporaries: one for all products (ops/product.h); for bf16 scores [S,S] fp32,
//              copies. Backward allocates dq, dk, dv of the sizes of q, k, v, and as
//              one where these are. Temporaries: the
//              same, and [S,S] wide; for bf16 one more [S,S] fp32, copies, and dk, dv of one head.
//   efficient  forward allocates out [N,A·D] and logsumexp [N·A] wide. Temporaries: one
//              for all products, scores [C,S] wide, with C = attention_rows; for bf16 copies.
//              Backward allocates dq, dk, dv. Temporaries: the same, with two [C,S]; for bf16
//              copies, and dk, dv of one head.
//   saved      q, k, v, out, and probabilities or logsumexp (by the caller).
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "estimate/headroom_engine.h"
#include "trainer/ops/segments.h"

namespace headroom::trainer::ops {

// Query rows that `efficient` scores at once.
inline constexpr auto attention_rows = static_cast<std::int64_t>(estimate::attention_rows);

struct AttentionShape {
  std::int64_t batch = 0;     // Samples.
  std::int64_t sequence = 0;  // Rows of each; of samples end to end, of the longest.
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t head_dim = 0;
  std::int64_t window = 0;  // Tokens that a query sees, its own included; 0: all before it.
  double query_scalar = 0;  // Scores are divided by its root; 0: by that of head_dim.
  double cap = 0;           // Of the scores; 0: none.
  std::vector<std::int64_t> cu_seqlens = {};  // Of samples end to end (segments.h); else empty.

  Segments segments() const {
    return cu_seqlens.empty() ? equal_segments(batch, sequence) : segments_of(cu_seqlens);
  }
  bool windowed() const { return window > 0 && window < sequence; }
};

struct Qkv {
  at::Tensor q;  // [N, heads·head_dim]
  at::Tensor k;  // [N, kv_heads·head_dim]
  at::Tensor v;
  at::Tensor all = {};  // Where they are columns of one, side by side; else undefined.
};

// The three as views of `all` [N, (heads + 2 kv_heads)·head_dim].
Qkv share_columns(at::Tensor all, const AttentionShape& shape);

struct AttentionResult {
  at::Tensor out;    // [N, heads·head_dim]
  at::Tensor saved;  // math: probabilities; efficient: logsumexp of the scaled scores. Flat: sample
                     // by sample, and head by head in each.
};

AttentionResult attention_math(const Qkv& in, const AttentionShape& shape);
Qkv attention_math_backward(const at::Tensor& grad, const Qkv& in, const AttentionResult& result,
                            const AttentionShape& shape);

AttentionResult attention_efficient(const Qkv& in, const AttentionShape& shape);
Qkv attention_efficient_backward(const at::Tensor& grad, const Qkv& in,
                                 const AttentionResult& result, const AttentionShape& shape);

}  // namespace headroom::trainer::ops
