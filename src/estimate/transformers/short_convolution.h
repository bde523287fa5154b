// SPDX-License-Identifier: Apache-2.0
// LFM2's first half of most layers: a gate, a convolution of a few tokens and another gate, by the
// plain path of transformers, which has no kernel of causal-conv1d.
#pragma once

#include "estimate/transformers/attention.h"
#include "estimate/transformers/channel_convolution.h"

namespace headroom::estimate::transformers {

struct ShortConvolutionLayer {
  ShortConvolution shape;
  std::optional<Linear> in, out;
  ChannelConvolution conv;
};

ShortConvolutionLayer make_short_convolution(Run& run, const Stack& stack);

// x [batch, tokens, hidden] → the same shape. `cache` keeps the last inputs of the convolution
// [batch, hidden, kernel].
Tensor apply(Run& run, const ShortConvolutionLayer& layer, const Tensor& x, LayerCache* cache);

}  // namespace headroom::estimate::transformers
