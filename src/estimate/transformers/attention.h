// SPDX-License-Identifier: Apache-2.0
// The attention half of a layer: projections, norms of heads, rotation, the kernel, the output.
#pragma once

#include <optional>

#include "estimate/models/architecture.h"
#include "estimate/transformers/linear.h"
#include "estimate/transformers/norm.h"

namespace headroom::estimate::transformers {

struct AttentionLayer {
  AttentionShape shape;
  std::optional<Linear> q, k, v;   // Not fused.
  std::optional<Linear> q_narrow;  // Of latent attention (latent.h).
  std::optional<Linear> qkv;       // Fused: [(heads + 2 kv_heads) head_dim, hidden].
  std::optional<Linear> o;
  std::optional<NormWeights> q_norm, k_norm;  // Of each head.
  std::optional<Tensor> sinks;                // [heads]
  std::optional<Tensor> relative_bias;        // [buckets, heads]
};

// Keys and values of the tokens so far, one layer's; [batch, kv_heads, tokens, head_dim]. Of latent
// attention: the narrow rows and the turned keys, of one head.
struct LayerCache {
  Tensor keys;
  Tensor values;
  Tensor convolved, state;  // Of Mamba-2, which may stand beside it (mamba2.h).
};

// What all layers of a stack share in one forward.
struct Shared {
  std::optional<Tensor> cos, sin;
  std::optional<Tensor> mask;         // Of sdpa-mask and eager: [batch, 1, queries, keys]
  std::optional<Tensor> window_mask;  // The same of layers with a window.
  std::optional<Tensor>
      bias;  // T5's positions: [1, heads, queries, keys]; made by the first layer.
  std::optional<Tensor> cross_bias;  // The same of cross attention, of zeros.
  bool bias_is_turned = false;       // It is a view of [1, queries, keys, heads].
  std::optional<Tensor> cross_mask;  // Of what a padded encoder gave.
  bool causal = true;
  bool both_ways = false;         // Every layer has a mask, whatever the kernel.
  std::optional<Tensor> padding;  // [batch, tokens, 1], where mixers are given one.
  double dropout = 0;             // Of probabilities. Fused kernels make no mask for it.
};

// torch.cat of what was there and what is new; a sliding window keeps its last tokens. 0: all.
Tensor extend_cache(Run& run, const Tensor& before, const Tensor& fresh, std::uint64_t window);

AttentionLayer make_attention(Run& run, const Stack& stack, const AttentionShape& shape);

// x [batch, queries, hidden] → the same shape. `memory` is what cross attention looks at, else x
// itself; `cache` takes the new keys and values in and gives all of them.
struct AttentionInput {
  Tensor x;
  std::optional<Tensor> memory;
  LayerCache* cache = nullptr;
  std::uint64_t window = 0;   // Tokens that the cache keeps; 0: all.
  std::vector<Piece> pieces;  // Of by_image.
  bool windowed = false;      // It looks at fewer tokens than there are.
  bool turns = true;          // Where the stack has rotary positions.
  Tensor* weights = nullptr;  // Is given the probabilities, where a kernel makes them.
};
Tensor apply(Run& run, const AttentionLayer& layer, const Shared& shared,
             const AttentionInput& input);

}  // namespace headroom::estimate::transformers
