// SPDX-License-Identifier: Apache-2.0
// Linear attention by the gated delta rule, by the plain path that transformers takes where the
// kernels of flash-linear-attention and causal-conv1d are not there.
#pragma once

#include "estimate/transformers/attention.h"
#include "estimate/transformers/channel_convolution.h"

namespace headroom::estimate::transformers {

struct DeltaNetLayer {
  DeltaNet shape;
  std::optional<Linear> qkv;         // Joined: also the gates' rows.
  std::optional<Linear> gate;        // Not joined.
  std::optional<Linear> beta, step;  // Joined: both are `beta`'s.
  ChannelConvolution conv;
  Tensor step_bias, a_log;  // [value_heads]
  Tensor norm;              // [value_dim]
  std::optional<Linear> out;
};

DeltaNetLayer make_delta_net(Run& run, const Stack& stack);

// x [batch, tokens, hidden] → the same shape. `cache` keeps the last inputs of the convolution
// [batch, channels, kernel] and the state [batch, value_heads, key_dim, value_dim] in fp32.
Tensor apply(Run& run, const DeltaNetLayer& layer, const Tensor& x, LayerCache* cache);

}  // namespace headroom::estimate::transformers
