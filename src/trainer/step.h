// SPDX-License-Identifier: Apache-2.0
// One micro-batch through the model and back. Gradients add up in Parameter::grad until the
// optimizer takes them.
//
// Memory. N = batch·sequence rows of H, in the order of time:
//   embedding      hidden [N,H] (activations); positions are added in place.
//   each layer     what ops/ say; with checkpointing "layer" only its input [N,H] outlives it, else
//                  LayerSaved. Layers below the lowest trained parameter keep nothing.
//   head           norm [N,H] and [N,1]; the loss (ops/loss.h) returns d x [N,H], which from here
//   on
//                  is the one running gradient of the residual stream, changed in place.
//   each layer     from the last: computed again if checkpointed; then backward (layer.cpp).
//   embedding      rows of the running gradient are added into its gradient in place; where the
//                  head is not tied, that gradient is allocated here. That of positions is
//                  allocated after it.
// A trained parameter's gradient is allocated when its first product is ready; further
// micro-batches add to it in place.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "trainer/model.h"

namespace headroom::trainer {

struct MicroBatch {
  at::Tensor ids;      // [batch·sequence] int64
  at::Tensor targets;  // [batch·sequence] int64; ops::ignored_target where there is none
  std::int64_t batch = 0;
  std::int64_t sequence = 0;  // At most ModelOptions::longest.
};

// Adds the gradients of scale · (summed loss) and returns the summed loss. `seed` decides the
// dropout masks. Throws what libtorch throws.
double train_micro_batch(Model& model, const MicroBatch& batch, double scale, std::uint64_t seed);

// The summed loss without dropout, gradients or anything kept.
double evaluate_micro_batch(Model& model, const MicroBatch& batch);

// What the model says after every token, without dropout: [batch·sequence, vocabulary], all at
// once.
at::Tensor compute_logits(Model& model, const MicroBatch& batch);

}  // namespace headroom::trainer
