// SPDX-License-Identifier: Apache-2.0
// From the last hidden states to the scalar that is trained on.
#pragma once

#include "estimate/models/architecture.h"
#include "estimate/transformers/linear.h"

namespace headroom::estimate::transformers {

struct LanguageHead {
  const Linear& linear;
  const std::optional<Tensor>& offset;  // [1, vocabulary], added to the logits (BART).
  bool widens = false;                  // The model's own logits are in fp32 (Mamba).
};

// The language head and its cross entropy, with the kernel that the job has. hidden [batch, tokens,
// width], weight [vocabulary, width].
Tensor language_loss(Run& run, const Tensor& hidden, const LanguageHead& head, const Head& kind);

// The head alone.
Tensor logits_of(Run& run, const Tensor& hidden, const LanguageHead& head, const Head& kind);

}  // namespace headroom::estimate::transformers
