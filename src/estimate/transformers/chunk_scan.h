// SPDX-License-Identifier: Apache-2.0
// The selective scan of Mamba-2, by chunks of tokens or by one.
#pragma once

#include "estimate/models/mixers.h"
#include "estimate/transformers/run.h"

namespace headroom::estimate::transformers {

struct ChunkScanInput {
  Tensor x;          // [batch, tokens, heads, head_dim]
  Tensor step;       // [batch, tokens, heads]
  Tensor a;          // [heads], fp32
  Tensor b, c;       // [batch, tokens, groups, state]
  Tensor skip;       // [heads]: D
  Tensor step_bias;  // [heads]
};

// → [batch, tokens, heads, head_dim], of several tokens in fp32. `state` [batch, heads, head_dim,
// state] is that of the tokens before, undefined where there are none, and then that behind these.
// `keeps_state`: someone will ask for it.
Tensor chunk_scan(Run& run, const Mamba2& shape, ChunkScanInput in, Tensor& state,
                  bool keeps_state);

}  // namespace headroom::estimate::transformers
