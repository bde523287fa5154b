// SPDX-License-Identifier: Apache-2.0
// The gated delta rule over heads, in fp32.
#pragma once

#include "estimate/models/mixers.h"
#include "estimate/transformers/run.h"

namespace headroom::estimate::transformers {

struct DeltaInput {
  Tensor q, k;         // [batch, tokens, key_heads, key_dim]
  Tensor v;            // [batch, tokens, value_heads, value_dim]
  Tensor decay, beta;  // [batch, tokens, value_heads]
};

// Chunk by chunk of 64 tokens (torch_chunk_gated_delta_rule), or token by token where there is one
// and a state (torch_recurrent_gated_delta_rule). → [batch, tokens, value_heads, value_dim] in q's
// type. `state` [batch, value_heads, key_dim, value_dim] is what was before, or undefined, and then
// what is.
Tensor delta_rule(Run& run, const DeltaNet& shape, const DeltaInput& in, Tensor& state);

}  // namespace headroom::estimate::transformers
