// SPDX-License-Identifier: Apache-2.0
// The pieces of a step through a model whose layers are split over ranks: each rank does what the
// schedule of its stage says (estimate/pipeline.h), and hands hidden states to the next one and
// their gradients to the one before.
//
// Memory: of each piece that is between its two passes what step.h says, and what it was received
// from, [N,H] (activations). What is handed on is copied into the segment and goes at once.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "base/result.h"
#include "trainer/model.h"
#include "trainer/ranks/ranks.h"
#include "trainer/step.h"

namespace headroom::trainer {

// The most that passes between neighbours at once: the hidden states of so many samples.
std::uint64_t message_bytes(const estimate::ModelConfig& config, const ModelOptions& options,
                            std::uint64_t samples);

// All ranks call the same function with the same pieces. Each returns the summed loss, which the
// last stage alone knows and the others have as 0; nothing where another rank has interrupted the
// round (averager/streams.h). They fail where a piece cannot be read or a rank is gone, and throw
// what libtorch throws: the caller interrupts the round then.
class Pipeline {
 public:
  using Read = std::function<Result<MicroBatch>(std::size_t piece)>;

  // Both outlive it. Requires: the ranks are split, and the model's part is this rank's.
  Pipeline(Ranks& ranks, Model& model) : ranks_(ranks), model_(model) {}

  // `seed`: of the dropout masks of a piece. `scale`: as train_micro_batch().
  Result<std::optional<double>> train(std::size_t pieces, const Read& read, double scale,
                                      const std::function<std::uint64_t(std::size_t)>& seed);
  Result<std::optional<double>> evaluate(std::size_t pieces, const Read& read);

 private:
  // Nothing where the round was interrupted.
  Result<std::optional<at::Tensor>> receive(std::uint32_t from, std::int64_t rows);
  Result<bool> send(std::uint32_t to, const at::Tensor& tensor);

  Ranks& ranks_;
  Model& model_;
};

}  // namespace headroom::trainer
