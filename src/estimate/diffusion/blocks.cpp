// SPDX-License-Identifier: Apache-2.0
#include "estimate/diffusion/blocks.h"

namespace headroom::estimate::diffusion {

Resnet make_resnet(Weights& weights, const ResnetShape& shape) {
  Resnet resnet;
  resnet.norm1 = make_norm(weights, "norm1", shape.in, shape.groups);
  resnet.conv1 = make_convolution(weights, "conv1", {shape.in, shape.out});
  if (shape.time > 0) resnet.time = make_linear(weights, "time_emb_proj", {shape.time, shape.out});
  resnet.norm2 = make_norm(weights, "norm2", shape.out, shape.groups);
  resnet.conv2 = make_convolution(weights, "conv2", {shape.out, shape.out});
  if (shape.in != shape.out)
    resnet.shortcut = make_convolution(weights, "conv_shortcut", {shape.in, shape.out, 1});
  return resnet;
}

Maps apply(const Model& model, const Resnet& resnet, const Maps& x, const Tensor& time) {
  Maps hidden = normalise_groups(model, resnet.norm1, x);
  hidden = maps(ops::silu(model.tape, hidden, "silu"));
  hidden = apply(model, resnet.conv1, hidden);
  Tensor shift = time;
  if (resnet.time && time.defined()) {
    shift = ops::silu(model.tape, time, "time.silu");
    shift = apply(model, *resnet.time, shift);
    hidden = add(model, hidden, shift, "with_time");
  }
  hidden = normalise_groups(model, resnet.norm2, hidden);
  hidden = maps(ops::silu(model.tape, hidden, "silu"));
  hidden = apply(model, resnet.conv2, hidden);
  Maps input = x;
  if (resnet.shortcut) input = apply(model, *resnet.shortcut, x);
  const Maps sum = add(model, input, hidden, "sum");
  return scale(model, sum, "output");  // / output_scale_factor
}

Maps upsample(const Model& model, const Convolution& convolution, const Maps& x, const Size& size) {
  const Maps larger = resize(model, x, size.height, size.width);
  return apply(model, convolution, larger);
}

}  // namespace headroom::estimate::diffusion
