// SPDX-License-Identifier: Apache-2.0
// Mamba-2's layer, by the plain path that transformers takes where the kernels of mamba-ssm and
// causal-conv1d are not there.
#pragma once

#include "estimate/transformers/attention.h"
#include "estimate/transformers/channel_convolution.h"

namespace headroom::estimate::transformers {

struct Mamba2Layer {
  Mamba2 shape;
  std::optional<Linear> in, out;
  ChannelConvolution conv;
  Tensor step_bias, a_log, skip;  // [heads]
  Tensor norm;                    // [inner], or undefined
  Tensor multipliers;             // [rows], where the shape is scaled
};

Mamba2Layer make_mamba2(Run& run, const Stack& stack);

// x [batch, tokens, hidden] → the same shape. `padding` is what the convolution's result is
// multiplied by, where there is one. `cache` keeps the last inputs of the convolution [batch,
// channels, kernel] and the state [batch, heads, head_dim, state] in fp32.
Tensor apply(Run& run, const Mamba2Layer& layer, const Tensor& x,
             const std::optional<Tensor>& padding, LayerCache* cache);

}  // namespace headroom::estimate::transformers
