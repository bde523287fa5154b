// SPDX-License-Identifier: Apache-2.0
// How well a model does on samples that it was not trained on.
//
// Memory: a training step's, without what is kept for the backward pass, and with logits in chunks
// (ops/loss.h). No step of the same micro-batch needs less, so an evaluation never raises the peak.
#pragma once

#include <cstdint>
#include <functional>

#include "base/result.h"
#include "trainer/data/sample_set.h"
#include "trainer/fitting_batches.h"
#include "trainer/model.h"

namespace headroom::trainer {

// Micro-batches of an evaluation, `micro` rows in each, the rows in their order.
std::size_t count_evaluations(std::size_t rows, std::uint64_t micro);

struct EvaluatedPart {
  double loss = 0;     // Summed over the tokens to predict, in nats.
  double targets = 0;  // How many those are.
  bool is_whole = true;
};

// The micro-batches from `first` to before `last`, without dropout, in pieces that fit. Asks
// `wants_stop` before each, and ends there if it says yes. `step`: after which it is done. Fails as
// FittingBatches::run() does, and where a sample cannot be read.
struct EvaluationRange {
  std::uint64_t micro = 1;
  std::size_t first = 0, last = 0;
  std::uint64_t step = 0;
};
Result<EvaluatedPart> evaluate(Model& model, const data::SampleSet& samples, EvaluationRange range,
                               FittingBatches& batches, const std::function<bool()>& wants_stop);

}  // namespace headroom::trainer
