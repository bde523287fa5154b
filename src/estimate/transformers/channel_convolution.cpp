// SPDX-License-Identifier: Apache-2.0
// Sources: transformers' causal_conv1d_fn (modeling_mamba.py and others); PyTorch's
// native/Convolution.cpp (_conv_depthwise2d).
#include "estimate/transformers/channel_convolution.h"

#include <optional>

#include "estimate/one_gradient.h"

namespace headroom::estimate::transformers {

Tensor without_padding(Run& run, const Tensor& x, const Tensor& padding) {
  const Meta meta = x.meta();
  return run.tape.connect(run.tape.empty("unpadded", meta), {x}, {padding},
                          one_gradient("unpadded", meta));
}

Tensor convolve(Run& run, const ChannelConvolution& convolution, const Tensor& x) {
  Tape& tape = run.tape;
  const std::uint64_t kernel = convolution.kernel, tokens = x.shape[2];
  const Tensor wide = ops::cast(tape, x, convolution.weight.element, "conv.cast");
  const Tensor input = run.autocast(wide, "conv.input");
  const Tensor weight = run.autocast_weight(convolution.weight, "conv.weight");
  std::optional<Tensor> bias;
  if (convolution.bias.defined()) bias = run.autocast_weight(convolution.bias, "conv.bias");
  const Meta out{{x.shape[0], x.shape[1], tokens + kernel - 1}, input.element};
  Tensor y;
  {
    const Tensor contiguous = tape.empty("conv.contiguous", input);
    y = ops::convolution(tape, input, {weight, bias}, out, "conv");
  }
  y = ops::narrow_last(tape, y, tokens);
  if (convolution.activated) y = ops::silu(tape, y, "conv.activated");
  return ops::cast(tape, y, x.element, "conv.narrow");
}

}  // namespace headroom::estimate::transformers
