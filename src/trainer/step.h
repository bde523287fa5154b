// SPDX-License-Identifier: Apache-2.0
// One micro-batch through the model and back. Gradients add up in Parameter::grad until the
// optimizer takes them.
//
// Memory. N rows of H, which are batch·sequence or all tokens of samples end to end, in the order
// of time:
//   embedding      hidden [N,H] (activations); positions are added in place, Gemma's
//                  √hidden is multiplied in place.
//   each layer     what ops/ say; with checkpointing "layer" only its input [N,H] outlives it, else
//                  LayerSaved. Layers below the lowest trained parameter keep nothing. What is
//                  kept may wait in host memory (offloaded_layer.h).
//   head           norm [N,H] and [N,1]; the loss (ops/loss.h) returns d x [N,H], which from here
//                  on is the one running gradient of the residual stream, changed in place.
//   each layer     from the last: computed again if checkpointed; then backward (layer.cpp).
//   embedding      rows of the running gradient are added into its gradient in place; where the
//                  head is not tied, that gradient is allocated here. That of positions is
//                  allocated after it.
// A trained parameter's gradient is allocated when its first product is ready; further
// micro-batches add to it in place.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "trainer/model.h"

namespace headroom::trainer {

struct MicroBatch {
  at::Tensor ids;             // [N] int64
  at::Tensor targets;         // [N] int64; ops::ignored_target where there is none
  std::int64_t batch = 0;     // Samples.
  std::int64_t sequence = 0;  // Rows of the longest, at most ModelOptions::longest.
  // Where the samples lie end to end (ops/segments.h); empty: each is padded to `sequence`.
  std::vector<std::int64_t> cu_seqlens = {};

  ops::Segments segments() const {
    return cu_seqlens.empty() ? ops::equal_segments(batch, sequence) : ops::segments_of(cu_seqlens);
  }
};

// One micro-batch on its way through the part of a model that is here. Between its two passes it
// holds what the second one needs.
class StageRun {
 public:
  // `scale` and `seed`: as train_micro_batch(). The model outlives it.
  StageRun(Model& model, MicroBatch batch, double scale, std::uint64_t seed);
  StageRun(const StageRun&) = delete;
  StageRun& operator=(const StageRun&) = delete;

  // `received`: what the part before made of it, [N, hidden]; the first part embeds.
  // Returns what the part behind is given; nothing at the last one, which knows the loss then.
  at::Tensor forward(at::Tensor received);
  double loss() const { return loss_; }  // Summed.

  // `received`: the gradient of what forward() returned; the last part has its own. Adds to the
  // gradients here and returns that of what forward() was given; nothing at the first part.
  at::Tensor backward(at::Tensor received);

 private:
  Pass pass(std::size_t layer) const;
  at::Tensor run(std::size_t layer, const at::Tensor& hidden, Keep keep);

  Model& model_;
  MicroBatch batch_;
  double scale_;
  std::uint64_t seed_;
  bool checkpointed_;
  std::vector<Keep> keeps_;
  std::vector<LayerSaved> saved_;
  at::Tensor grad_;  // Of what the head was given.
  double loss_ = 0;
};

// The layers that are here, without dropout or anything kept: takes and returns what
// StageRun::forward() does, but for the head and its loss, which are evaluate_head()'s.
at::Tensor forward_only(Model& model, const MicroBatch& batch, at::Tensor received);
double evaluate_head(Model& model, const MicroBatch& batch, at::Tensor hidden);

// Adds the gradients of scale · (summed loss) and returns the summed loss. `seed` decides the
// dropout masks. Throws what libtorch throws. Requires of this and what follows: a whole model.
double train_micro_batch(Model& model, const MicroBatch& batch, double scale, std::uint64_t seed);

// The summed loss without dropout, gradients or anything kept.
double evaluate_micro_batch(Model& model, const MicroBatch& batch);

// What the model says after every token, without dropout: [N, vocabulary], all at once.
at::Tensor compute_logits(Model& model, const MicroBatch& batch);

}  // namespace headroom::trainer
