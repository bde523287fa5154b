// SPDX-License-Identifier: Apache-2.0
// softmax(q kᵀ / √d) v by the kernel that the job has.
#pragma once

#include "estimate/transformers/attention.h"

namespace headroom::estimate::transformers {

// q [batch, heads, queries, head_dim], k and v [batch, kv_heads, keys, head_dim] → q's shape. A
// soft cap or a bias on the scores rules fused kernels out: those run as eager.
Tensor attend(Run& run, const AttentionShape& shape, const Shared& shared, const Tensor& q,
              const Tensor& k, const Tensor& v);

}  // namespace headroom::estimate::transformers
