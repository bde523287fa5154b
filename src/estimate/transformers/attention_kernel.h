// SPDX-License-Identifier: Apache-2.0
// softmax(q kᵀ / √d) v by the kernel that the job has.
#pragma once

#include "estimate/transformers/attention.h"

namespace headroom::estimate::transformers {

struct Qkv {
  Tensor q;  // [batch, heads, queries, head_dim]
  // [batch, kv_heads, keys, head_dim]; v's last dimension may be another than q's and k's.
  Tensor k, v;
  // In memory q lies as it is written here, as after a concatenation; else tokens before heads.
  bool heads_first = false;
  // Parts of what one product gave, and no operation has made them anew.
  bool q_part = false, k_part = false, v_part = false;
  bool masked = false;          // A window's mask is used whatever the kernel.
  Tensor* weights = nullptr;    // As AttentionInput's.
  Tensor gate;                  // [batch, queries, heads × head_dim], where heads have one.
  std::optional<Tensor> sinks;  // [heads]
};

// → q's shape, in v's last dimension. A soft cap or a bias on the scores rules fused kernels out:
// those run as eager. Each piece by itself, and what they give joined. Requires: the pieces are all
// of q's tokens.
Tensor attend_pieces(Run& run, const AttentionShape& shape, const Shared& shared, const Qkv& in,
                     const std::vector<Piece>& pieces);
Tensor attend(Run& run, const AttentionShape& shape, const Shared& shared, const Qkv& in);

}  // namespace headroom::estimate::transformers
