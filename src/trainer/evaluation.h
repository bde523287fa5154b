// SPDX-License-Identifier: Apache-2.0
// How well a model does on samples that it was not trained on.
//
// Memory: a training step's, without what is kept for the backward pass, and with logits in chunks
// (ops/loss.h). No step of the same micro-batch needs less, so an evaluation never raises the peak.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "trainer/data/samples.h"
#include "trainer/model.h"

namespace headroom::trainer {

// The mean loss per token to predict, in nats, without dropout; samples in their order, `micro` at
// once. Asks `wants_stop` before each micro-batch; nothing if it said yes. Requires: there is a
// sample.
std::optional<double> evaluate(Model& model, const data::Samples& samples, std::uint64_t micro,
                               const std::function<bool()>& wants_stop);

}  // namespace headroom::trainer
