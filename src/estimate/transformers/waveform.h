// SPDX-License-Identifier: Apache-2.0
// From samples of sound to the rows that the first layer is given (wav2vec 2.0, HuBERT).
#pragma once

#include <optional>
#include <vector>

#include "estimate/models/waveform.h"
#include "estimate/transformers/linear.h"
#include "estimate/transformers/norm.h"

namespace headroom::estimate::transformers {

class WaveformModules {
 public:
  // Requires: stack.input.waveform. Makes its weights; `run` outlives this.
  WaveformModules(Run& run, const Stack& stack);

  // samples [batch, 1, samples] → [batch, frames, hidden], with positions.
  Tensor forward(const Tensor& samples);

 private:
  struct Layer {
    Tensor weight;                    // [channels, channels before, kernel]
    std::optional<Tensor> bias;       // [channels]
    std::optional<NormWeights> norm;  // Of each frame, or of each channel.
    Waveform::Convolution shape;
  };
  Tensor convolve(const Layer& layer, const Tensor& x);
  Tensor extract(const Tensor& samples);
  Tensor with_positions(const Tensor& x);

  Run& run_;
  Waveform shape_;
  std::uint64_t hidden_ = 0;
  std::vector<Layer> layers_;
  std::optional<NormWeights> norm_;
  Linear projection_;
  Tensor position_length_, position_direction_, position_bias_;  // [1, 1, kernel], [hidden, …]
  std::optional<Tensor> mask_embedding_;
};

}  // namespace headroom::estimate::transformers
