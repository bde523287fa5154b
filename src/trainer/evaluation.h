// SPDX-License-Identifier: Apache-2.0
// How well a model does on samples that it was not trained on.
//
// Memory: a training step's, without what is kept for the backward pass, and with logits in chunks
// (ops/loss.h). No step of the same micro-batch needs less, so an evaluation never raises the peak.
#pragma once

#include <cstdint>
#include <functional>

#include "trainer/data/samples.h"
#include "trainer/model.h"

namespace headroom::trainer {

// Micro-batches of an evaluation, `micro` samples in each, the samples in their order.
std::size_t count_evaluations(std::size_t samples, std::uint64_t micro);

struct EvaluatedPart {
  double loss = 0;     // Summed over the tokens to predict, in nats.
  double targets = 0;  // How many those are.
  bool is_whole = true;
};

// The micro-batches from `first` to before `last`, without dropout. Asks `wants_stop` before each,
// and ends there if it says yes.
EvaluatedPart evaluate(Model& model, const data::Samples& samples, std::uint64_t micro,
                       std::size_t first, std::size_t last,
                       const std::function<bool()>& wants_stop);

}  // namespace headroom::trainer
