// SPDX-License-Identifier: Apache-2.0
// Sound as it comes from a file, and the convolutions that make frames of it. Source: transformers,
// models/{wav2vec2,hubert}/modeling_*.py.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace headroom::estimate {

struct Waveform {
  struct Convolution {
    std::uint64_t channels = 0;  // conv_dim
    std::uint64_t kernel = 0;    // conv_kernel, in frames of the one before
    std::uint64_t stride = 0;    // conv_stride
  };
  std::vector<Convolution> convolutions;
  bool bias = false;        // conv_bias
  bool norm_each = false;   // feat_extract_norm "layer": a LayerNorm behind each; else a GroupNorm
                            // behind the first.
  bool norm_before = true;  // A LayerNorm in front of the projection (feat_proj_layer_norm).
  double dropout = 0;       // feat_proj_dropout, behind the projection.
  std::uint64_t position_kernel = 0;  // num_conv_pos_embeddings
  std::uint64_t position_groups = 0;  // num_conv_pos_embedding_groups
  bool mask_embedding = false;  // masked_spec_embed, which SpecAugment writes (mask_…_prob).

  // Frames of `samples`: each convolution keeps whole windows alone.
  std::uint64_t frames(std::uint64_t samples) const {
    for (const Convolution& each : convolutions)
      samples = samples < each.kernel ? 0 : (samples - each.kernel) / each.stride + 1;
    return samples;
  }
  // Samples without which there is not one frame.
  std::uint64_t samples_min() const {
    std::uint64_t samples = 1;
    for (std::size_t i = convolutions.size(); i-- > 0;)
      samples = (samples - 1) * convolutions[i].stride + convolutions[i].kernel;
    return samples;
  }
};

}  // namespace headroom::estimate
