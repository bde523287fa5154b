// SPDX-License-Identifier: Apache-2.0
// From the last hidden states to the scalar that is trained on.
#pragma once

#include "estimate/models/architecture.h"
#include "estimate/transformers/linear.h"

namespace headroom::estimate::transformers {

// The language head and its cross entropy, with the kernel that the job has. hidden [batch, tokens,
// width], weight [vocabulary, width].
Tensor language_loss(Run& run, const Tensor& hidden, const Linear& head, const Head& kind);

// The head alone.
Tensor logits_of(Run& run, const Tensor& hidden, const Linear& head, const Head& kind);

}  // namespace headroom::estimate::transformers
