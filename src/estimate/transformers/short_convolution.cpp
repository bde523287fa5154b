// SPDX-License-Identifier: Apache-2.0
// Sources: transformers' modeling_lfm2.py (Lfm2ShortConv) and cache_utils.py
// (LinearAttentionLayer).
#include "estimate/transformers/short_convolution.h"

#include <vector>

namespace headroom::estimate::transformers {

ShortConvolutionLayer make_short_convolution(Run& run, const Stack& stack) {
  ShortConvolutionLayer layer;
  const ShortConvolution& shape = layer.shape = *stack.short_convolution;
  const std::uint64_t hidden = stack.hidden;
  const auto part = [&](Name name, const Shape& of) {
    return run.tape.parameter(name, {of, run.weights()}, Component::weights, run.full());
  };
  layer.conv.kernel = shape.kernel;
  layer.conv.activated = false;
  layer.conv.weight = part("conv.weight", {hidden, 1, shape.kernel});
  if (shape.bias) layer.conv.bias = part("conv.bias", {hidden});
  layer.in = make_linear(run, "in_proj", {3 * hidden, hidden}, shape.bias);
  layer.out = make_linear(run, "out_proj", {hidden, hidden}, shape.bias);
  return layer;
}

// What the gates multiply lies token by token, so that nothing is copied for the last matrix.
Tensor apply(Run& run, const ShortConvolutionLayer& layer, const Tensor& x, LayerCache* cache) {
  Tape& tape = run.tape;
  const std::uint64_t batch = x.shape[0], tokens = x.shape[1], hidden = x.shape[2];
  const Tensor all = apply(run, *layer.in, x);
  const std::vector<Tensor> parts = ops::split_last(tape, all, {hidden, hidden, hidden});
  const Shape channels = {batch, hidden, tokens};
  const auto by_channel = [&](const Tensor& part) { return Tape::view(part, channels); };
  Tensor inner = ops::mul(tape, by_channel(parts[0]), by_channel(parts[2]), "gated_input");
  if (cache != nullptr && !cache->keys.defined())
    cache->keys = tape.empty("conv_states", {{batch, hidden, layer.shape.kernel}, inner.element},
                             Component::kv_cache);
  inner = convolve(run, layer.conv, inner);
  const Tensor y = ops::mul(tape, by_channel(parts[1]), inner, "gated_output");
  return apply(run, *layer.out, Tape::view(y, x.shape));
}

}  // namespace headroom::estimate::transformers
