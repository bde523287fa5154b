// SPDX-License-Identifier: Apache-2.0
// Sources: transformers' modeling_wav2vec2.py (Wav2Vec2FeatureEncoder, its three kinds of layer,
// Wav2Vec2FeatureProjection, Wav2Vec2PositionalConvEmbedding with weight_norm).
#include "estimate/transformers/waveform.h"

#include <utility>

#include "estimate/one_gradient.h"

namespace headroom::estimate::transformers {
namespace {

// _weight_norm: the direction over its length, times a length for each place of the kernel.
Tensor with_length(Tape& tape, const Tensor& direction, const Tensor& length) {
  const Meta whole = direction.meta();
  const Meta lengths = length.meta();
  const Tensor y = tape.empty("positions.weight", whole);
  const Tensor norms = tape.empty("positions.norms", {lengths.shape, Element::fp32});
  return tape.connect(y, {direction, length}, {direction, length, norms},
                      [=](Tape& t, const Tensor&, const Node& node) -> Tensors {
                        Tensors grads(2);
                        if (node.wants(0)) grads[0] = t.empty("positions.direction_grad", whole);
                        if (node.wants(1)) grads[1] = t.empty("positions.length_grad", lengths);
                        return grads;
                      });
}

}  // namespace

WaveformModules::WaveformModules(Run& run, const Stack& stack)
    : run_(run), shape_(*stack.input.waveform), hidden_(stack.hidden) {
  const bool frozen = run.frozen || run.job.method.freeze_feature_encoder;
  const auto part = [&](Name name, const Shape& shape, bool trained) {
    return run.tape.parameter(name, {shape, run.weights()}, Component::weights,
                              trained && run.full());
  };
  const bool before = std::exchange(run.frozen, frozen);
  std::uint64_t channels = 1;
  for (std::size_t i = 0; i < shape_.convolutions.size(); ++i) {
    const Scope scope(run.tape, "feature_extractor.conv_layers", i);
    Layer& layer = layers_.emplace_back();
    layer.shape = shape_.convolutions[i];
    layer.weight = part("conv.weight", {layer.shape.channels, channels, layer.shape.kernel}, true);
    if (shape_.bias) layer.bias = part("conv.bias", {layer.shape.channels}, true);
    const Norm norm{NormKind::layer, /*bias=*/true, 1e-5};
    if (shape_.norm_each || i == 0)
      layer.norm = make_norm(run, "layer_norm", norm, layer.shape.channels);
    channels = layer.shape.channels;
  }
  run.frozen = before;
  if (shape_.norm_before)
    norm_ = make_norm(run, "feature_projection.layer_norm", stack.norm, channels);
  projection_ = make_plain_linear(run, "feature_projection.projection", {hidden_, channels}, true,
                                  run.weights());
  if (shape_.mask_embedding) mask_embedding_ = part("masked_spec_embed", {hidden_}, true);
  position_length_ = part("pos_conv_embed.original0", {1, 1, shape_.position_kernel}, true);
  position_direction_ =
      part("pos_conv_embed.original1",
           {hidden_, hidden_ / shape_.position_groups, shape_.position_kernel}, true);
  position_bias_ = part("pos_conv_embed.bias", {hidden_}, true);
}

Tensor WaveformModules::convolve(const Layer& layer, const Tensor& x) {
  Tape& tape = run_.tape;
  const std::uint64_t frames = (x.shape[2] - layer.shape.kernel) / layer.shape.stride + 1;
  Tensor y;
  {
    const Tensor input = run_.autocast(x, "conv.input");
    std::optional<Tensor> bias;
    if (layer.bias) bias = run_.autocast_weight(*layer.bias, "conv.bias");
    const Meta out{{x.shape[0], layer.shape.channels, frames}, input.element};
    y = ops::convolution(tape, input, {run_.autocast_weight(layer.weight, "conv.weight"), bias},
                         out, "conv");
  }
  if (layer.norm && shape_.norm_each) {
    // Of frames, but it is given channel by channel: the kernel has a copy while it runs.
    const Tensor rows = Tape::view(y, {x.shape[0], frames, layer.shape.channels});
    const Tensor wide = run_.autocast_to_fp32(rows, "layer_norm.input");
    const Tensor turned = tape.empty("layer_norm.turned", wide);
    y = Tape::view(apply(run_, *layer.norm, wide), y.shape);
  } else if (layer.norm) {
    y = apply(run_, *layer.norm, y);
  }
  return ops::gelu(tape, y, "conv.activated");
}

// So that checkpoints work, the samples themselves are asked for a gradient unless the class was
// told that its convolutions are frozen.
Tensor WaveformModules::extract(const Tensor& samples) {
  const bool asked = run_.trains() && !run_.job.method.freeze_feature_encoder;
  Tensor hidden = ops::cast(run_.tape, samples, layers_.front().weight.element, "samples.cast");
  if (asked) hidden = Tape::require_gradient(hidden);
  const bool checkpointing =
      run_.job.compute.checkpointing == Checkpointing::layer && run_.trains();
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    const Scope scope(run_.tape, "feature_extractor.conv_layers", i);
    if (!checkpointing || !asked) {
      hidden = convolve(layers_[i], hidden);
      continue;
    }
    hidden = ops::checkpoint(
        run_.tape, {hidden},
        [this, i](Tape& tape, const std::vector<Tensor>& given) {
          Tensor y = convolve(layers_[i], given[0]);
          if (tape.in_backward()) run_.clear_autocast_cache();
          return y;
        },
        run_.job.compute.reentrant);
  }
  return hidden;
}

// A grouped convolution runs group by group, and joins what they give.
Tensor WaveformModules::with_positions(const Tensor& x) {
  Tape& tape = run_.tape;
  const std::uint64_t batch = x.shape[0], frames = x.shape[1];
  const std::uint64_t extra = shape_.position_kernel % 2 == 0 ? 1 : 0;
  const Tensor weight = with_length(tape, position_direction_, position_length_);
  const Tensor input = run_.autocast(x, "positions.input");
  const Meta out{{batch, hidden_, frames + extra}, input.element};
  Tensor y = ops::convolution(tape, input,
                              {run_.autocast(weight, "positions.narrow"),
                               run_.autocast_weight(position_bias_, "positions.bias")},
                              out, "positions.conv");
  { const Tensor groups = tape.empty("positions.groups", out); }
  if (extra > 0) y = ops::narrow_last(tape, y, frames);
  y = ops::gelu(tape, y, "positions.activated");
  return ops::add(tape, x, Tape::view(y, x.shape), "with_positions");
}

Tensor WaveformModules::forward(const Tensor& samples) {
  const Tensor features = extract(samples);
  const Tensor rows =
      Tape::view(features, {features.shape[0], features.shape[2], features.shape[1]});
  const Tensor normed = norm_ ? apply(run_, *norm_, rows) : rows;
  const Tensor hidden =
      run_.dropout(apply(run_, projection_, normed), shape_.dropout, "features.dropped");
  return with_positions(hidden);
}

}  // namespace headroom::estimate::transformers
