// SPDX-License-Identifier: Apache-2.0
// A convolution of each channel by itself over the tokens before, as causal_conv1d_fn of
// transformers does it without the kernel of that name.
#pragma once

#include "estimate/transformers/run.h"

namespace headroom::estimate::transformers {

struct ChannelConvolution {
  std::uint64_t kernel = 0;
  Tensor weight;  // [channels, 1, kernel]
  Tensor bias;    // [channels], or undefined
  bool activated = true;
};

// x [batch, tokens, width] times the mask [batch, tokens, 1] of whole numbers, which do not widen
// the product (apply_mask_to_padding_states).
Tensor without_padding(Run& run, const Tensor& x, const Tensor& padding);

// x [batch, channels, tokens], which does not lie channel by channel → the same shape.
Tensor convolve(Run& run, const ChannelConvolution& convolution, const Tensor& x);

}  // namespace headroom::estimate::transformers
