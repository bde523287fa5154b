// SPDX-License-Identifier: Apache-2.0
// A layer of selective state spaces, by the plain path that transformers takes where the kernels of
// mamba-ssm and causal-conv1d are not there (they are not built for ROCm's consumer cards).
#pragma once

#include "estimate/models/state_space.h"
#include "estimate/transformers/attention.h"
#include "estimate/transformers/channel_convolution.h"

namespace headroom::estimate::transformers {

struct StateSpaceLayer {
  StateSpace shape;
  std::optional<Linear> in, parts, step, out;  // in_proj, x_proj, dt_proj, out_proj
  ChannelConvolution conv;
  Tensor a_log, skip;  // [inner, state], [inner]
};

StateSpaceLayer make_state_space(Run& run, const Stack& stack);

// x [batch, tokens, hidden] → the same shape. `cache` keeps the last inputs of the convolution
// [batch, inner, kernel] and the state [batch, inner, state].
Tensor apply(Run& run, const StateSpaceLayer& layer, const Tensor& x, LayerCache* cache);

}  // namespace headroom::estimate::transformers
