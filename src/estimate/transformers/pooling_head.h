// SPDX-License-Identifier: Apache-2.0
// SigLIP's head: one trained row looks at all rows of the last layer, and goes through an MLP.
// Where a classifier stands beside it nothing is made of what it gives, but it runs.
#pragma once

#include "estimate/transformers/mlp.h"
#include "estimate/transformers/norm.h"

namespace headroom::estimate::transformers {

struct PoolingHead {
  Tensor probe;                // [hidden]
  Tensor packed, packed_bias;  // nn.MultiheadAttention's: [3 hidden, hidden], [3 hidden]
  Linear out;
  NormWeights norm;
  Mlp mlp;
  std::uint64_t heads = 0;
};

// None of its weights gets a gradient, and so no optimizer looks at them.
PoolingHead make_pooling_head(Run& run, const Stack& stack);
// x [batch, tokens, hidden] → [batch, 1, hidden].
Tensor apply(Run& run, const PoolingHead& head, const Tensor& x);

}  // namespace headroom::estimate::transformers
