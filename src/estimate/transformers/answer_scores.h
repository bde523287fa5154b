// SPDX-License-Identifier: Apache-2.0
// The log-probabilities of answers that TRL's trainers compare, from the last hidden states.
//
// Sources, huggingface/trl: since 1.15 add_fused_lm_head in trl/trainer/utils.py with the Triton
// kernels of trl/kernels/chunked_logprob.py, which work in place on tiles of the logits. Before,
// selective_log_softmax over all logits.
#pragma once

#include <cstdint>

#include "estimate/models/architecture.h"
#include "estimate/transformers/loss.h"

namespace headroom::estimate::transformers {

// From here on the trainers have no logits, only a tile of them.
inline constexpr Version tiled_head{1, 15};

struct Answers {
  std::uint64_t tokens = 1;  // Of each row, at its end: what is scored.
  bool tiled = true;
};

struct Scores {
  Tensor log_probabilities;  // [batch, tokens - 1], zero where nothing is answered.
  Tensor logits;             // What the trainer holds beside them. Undefined: nothing.
};

// hidden [batch, tokens, width]
Scores score_answers(Run& run, const Tensor& hidden, const LanguageHead& head, const Head& kind,
                     const Answers& answers);

}  // namespace headroom::estimate::transformers
