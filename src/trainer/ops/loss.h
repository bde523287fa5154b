// SPDX-License-Identifier: Apache-2.0
// The output head and the cross-entropy of its logits, forward and backward in one go: the gradient
// of the logits needs nothing but the logits, so it takes their place.
//
// Memory. N rows of H, vocabulary V; the head's weight is [V,H].
//   eager     allocates logits [N,V] (tag logits), d x [N,H] (workspace) and the head's gradient,
//   if
//             it trains and has none yet. Logits are freed on return.
//   chunked   the same, with logits [chunk,V], one chunk after the other, of
//             estimate::loss_chunk_rows().
//   both      temporaries (workspace): rows of [C] fp64; for bf16 also blocks [C,V] fp32, and with
//             a cap one for its slopes, with C = rows_per_block(V) (row_blocks.h); products as in
//             ops/product.h.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "trainer/parameter.h"

namespace headroom::trainer::ops {

inline constexpr std::int64_t ignored_target = -100;  // As in PyTorch and transformers.

struct LossInput {
  at::Tensor x;        // [N, H]
  at::Tensor targets;  // [N] int64; rows with ignored_target count for nothing
  double scale = 1;    // What multiplies the summed loss: 1 / tokens of the optimizer step.
  double cap = 0;      // Logits are cap · tanh(logit / cap) (Gemma 2); 0: as they are.
};

struct LossResult {
  double sum = 0;  // Of −log p(target) over the rows that count; not scaled.
  at::Tensor dx;   // [N, H], scaled
};

LossResult eager_loss(const LossInput& in, Parameter& head);
LossResult chunked_loss(const LossInput& in, Parameter& head);

// The sum alone, without gradients, by chunks.
double evaluate_loss(const LossInput& in, const Parameter& head);

// Overwrites logits [R, V] with d (scale · summed loss) / d logits; returns the sum. The logits are
// those in front of the cap, if there is one.
double cross_entropy_(at::Tensor& logits, const at::Tensor& targets, double scale, double cap = 0);

// logits = cap · tanh(logits / cap).
void soft_cap_(at::Tensor& logits, double cap);

}  // namespace headroom::trainer::ops
