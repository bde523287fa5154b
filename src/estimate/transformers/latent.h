// SPDX-License-Identifier: Apache-2.0
// The projections of multi-head latent attention, from hidden states to what the kernel is given.
#pragma once

#include "estimate/transformers/attention_kernel.h"

namespace headroom::estimate::transformers {

// Requires: shape.latent. q is the matrix that widens, or the only one; k the one that narrows keys
// and values, v the one that widens them; q_norm and k_norm are of the narrow rows.
AttentionLayer make_latent_attention(Run& run, const Stack& stack, const AttentionShape& shape);

// What a layer's cache keeps is the narrow row and the turned key, both of one head.
Qkv project_latent(Run& run, const AttentionLayer& layer, const Shared& shared,
                   const AttentionInput& input);

}  // namespace headroom::estimate::transformers
