// SPDX-License-Identifier: Apache-2.0
#include "estimate/diffusion/unet.h"

#include <algorithm>
#include <utility>

namespace headroom::estimate::diffusion {
namespace {

// diffusers' Timesteps: sines and cosines in fp32, put side by side and once more in their order.
Tensor embed_number(Tape& tape, std::uint64_t rows, std::uint64_t width, Element element) {
  Tensor both = tape.empty("time.sin_cos", {{rows, width}, Element::fp32});
  both = tape.empty("time.flipped", {{rows, width}, Element::fp32});
  return ops::cast(tape, both, element, "time.embedding");
}

Maps join_channels(Tape& tape, const Maps& a, const Maps& b) {
  Meta meta = a.meta();
  meta.shape[1] += b.shape[1];
  return maps(tape.empty("cat", meta));
}

}  // namespace

Unet::Unet(Weights& weights, const UnetShape& shape) : shape_(shape) {
  const std::uint64_t first = shape.levels.front().width;
  const std::uint64_t last = first;
  time_width_ = 4 * first;
  in_ = make_convolution(weights, "conv_in", {shape.in, first});
  time1_ = make_linear(weights, "time_embedding.linear_1", {first, time_width_});
  time2_ = make_linear(weights, "time_embedding.linear_2", {time_width_, time_width_});
  if (shape.added_width > 0) {
    added1_ = make_linear(weights, "add_embedding.linear_1", {shape.added_width, time_width_});
    added2_ = make_linear(weights, "add_embedding.linear_2", {time_width_, time_width_});
  }
  make_down(weights);
  make_up(weights);
  make_mid(weights);
  norm_out_ = make_norm(weights, "conv_norm_out", last, shape.groups);
  out_ = make_convolution(weights, "conv_out", {last, shape.out});
}

Unet::Transformer Unet::make_transformer(Weights& weights, const Placed& placed) const {
  Tape& tape = weights.tape();
  const std::uint64_t width = placed.width;
  Transformer transformer;
  transformer.norm = make_norm(weights, "norm", width, shape_.groups);
  if (shape_.linear_projection)
    transformer.linear_in = make_linear(weights, "proj_in", {width, width});
  else
    transformer.conv_in = make_convolution(weights, "proj_in", {width, width, 1});
  for (std::uint64_t i = 0; i < placed.depth; ++i) {
    const Scope scope(tape, "transformer_blocks", i);
    Transformer::Block block;
    const auto attention = [&](Name name, std::uint64_t context) {
      const Scope inner(tape, name);
      AttentionLayer layer = make_attention(weights, {width, context, placed.heads});
      layer.upcast_scores = shape_.upcast_attention;
      return layer;
    };
    block.norm1 = make_norm(weights, "norm1", width);
    block.attn1 = attention("attn1", width);
    block.norm2 = make_norm(weights, "norm2", width);
    block.attn2 = attention("attn2", shape_.context);
    block.norm3 = make_norm(weights, "norm3", width);
    block.up = make_linear(weights, "ff.net.0.proj", {width, 8 * width});
    block.down = make_linear(weights, "ff.net.2", {4 * width, width});
    transformer.blocks.push_back(block);
  }
  if (shape_.linear_projection)
    transformer.linear_out = make_linear(weights, "proj_out", {width, width});
  else
    transformer.conv_out = make_convolution(weights, "proj_out", {width, width, 1});
  return transformer;
}

void Unet::make_down(Weights& weights) {
  Tape& tape = weights.tape();
  std::uint64_t width = shape_.levels.front().width;
  for (std::size_t i = 0; i < shape_.levels.size(); ++i) {
    const Scope scope(tape, "down_blocks", i);
    const UnetShape::Level& shape = shape_.levels[i];
    Level level;
    for (std::uint64_t j = 0; j < shape_.layers; ++j) {
      if (shape.depth > 0) {
        const Scope inner(tape, "attentions", j);
        level.transformers.push_back(
            make_transformer(weights, {shape.width, shape.heads, shape.depth}));
      }
      const Scope inner(tape, "resnets", j);
      level.resnets.push_back(
          make_resnet(weights, {width, shape.width, time_width_, shape_.groups}));
      width = shape.width;
    }
    if (i + 1 < shape_.levels.size())
      level.sampler = make_convolution(weights, "downsamplers.0.conv", {width, width, 3, 2});
    down_.push_back(std::move(level));
  }
}

void Unet::make_mid(Weights& weights) {
  const Scope scope(weights.tape(), "mid_block");
  const UnetShape::Level& last = shape_.levels.back();
  {
    const Scope inner(weights.tape(), "attentions", 0);
    mid_.transformers.push_back(
        make_transformer(weights, {last.width, last.heads, shape_.mid_depth}));
  }
  for (std::uint64_t i = 0; i < 2; ++i) {
    const Scope inner(weights.tape(), "resnets", i);
    mid_.resnets.push_back(
        make_resnet(weights, {last.width, last.width, time_width_, shape_.groups}));
  }
}

// Each resnet also gets what the level of the same resolution left on the way down, last first.
void Unet::make_up(Weights& weights) {
  Tape& tape = weights.tape();
  const std::size_t count = shape_.levels.size();
  std::uint64_t width = shape_.levels.back().width;
  for (std::size_t i = 0; i < count; ++i) {
    const Scope scope(tape, "up_blocks", i);
    const UnetShape::Level& shape = shape_.levels[count - 1 - i];
    const std::uint64_t below =
        i + 1 < count ? shape_.levels[count - 2 - i].width : shape_.levels.front().width;
    Level level;
    for (std::uint64_t j = 0; j <= shape_.layers; ++j) {
      if (shape.up_depth > 0) {
        const Scope inner(tape, "attentions", j);
        level.transformers.push_back(
            make_transformer(weights, {shape.width, shape.heads, shape.up_depth}));
      }
      const std::uint64_t skipped = j == shape_.layers ? below : shape.width;
      const Scope inner(tape, "resnets", j);
      level.resnets.push_back(
          make_resnet(weights, {width + skipped, shape.width, time_width_, shape_.groups}));
      width = shape.width;
    }
    if (i + 1 < count)
      level.sampler = make_convolution(weights, "upsamplers.0.conv", {width, width});
    up_.push_back(std::move(level));
  }
}

Tensor Unet::embed_time(const Model& model, const Maps& sample) const {
  Tape& tape = model.tape;
  const std::uint64_t images = sample.shape[0];
  const auto through = [&](const Linear& first, const Linear& second, const Tensor& x) {
    Tensor hidden = apply(model, first, x);
    hidden = ops::silu(tape, hidden, "time.silu");
    return apply(model, second, hidden);
  };
  const Tensor number =
      embed_number(tape, images, shape_.levels.front().width, model.weights.element());
  Tensor time = through(time1_, time2_, number);
  if (!added1_) return time;
  const Tensor sizes = embed_number(tape, images * 6, shape_.added_time, model.weights.element());
  const Tensor joined =
      tape.empty("add_embeds", {{images, shape_.added_width}, model.weights.element()});
  const Tensor added = through(*added1_, *added2_, joined);
  return ops::add(tape, time, added, "time.with_added");
}

// BasicTransformerBlock.
Tensor Unet::run(const Model& model, const Transformer::Block& block, const Tensor& x,
                 const Tensor& context, bool turned) {
  Tape& tape = model.tape;
  Tensor normed = normalise(model, block.norm1, x, turned);
  Tensor attended;
  {
    const Scope scope(tape, "attn1");
    attended = apply(model, block.attn1, normed);
  }
  attended = ops::scale(tape, attended, "attn1.rescaled");  // / rescale_output_factor
  Tensor hidden = ops::add(tape, attended, x, "attn1.sum");
  normed = normalise(model, block.norm2, hidden);
  {
    const Scope scope(tape, "attn2");
    const Tensor output = apply(model, block.attn2, normed, &context);
    attended = ops::scale(tape, output, "attn2.rescaled");
  }
  hidden = ops::add(tape, attended, hidden, "attn2.sum");
  normed = normalise(model, block.norm3, hidden);
  Tensor inner;
  {
    const Tensor both = apply(model, block.up, normed);  // GEGLU
    Meta half = both.meta();
    half.shape.back() /= 2;
    const Tensor gate = tape.empty("ff.gelu", half);
    inner = tape.empty("ff.gated", half);
  }
  const Tensor fed = apply(model, block.down, inner);
  inner = {};
  return ops::add(tape, fed, hidden, "ff.sum");
}

Maps Unet::run(const Model& model, const Transformer& transformer, const Maps& x,
               const Tensor& context) {
  Tape& tape = model.tape;
  const Shape planes = x.shape;
  const Shape rows = {planes[0], planes[2] * planes[3], planes[1]};
  Maps input = normalise_groups(model, transformer.norm, x);
  Tensor hidden;
  if (transformer.conv_in) {
    input = apply(model, *transformer.conv_in, input);
    hidden = Tape::view(input, rows);
  } else {
    hidden = apply_turned(model, *transformer.linear_in, Tape::view(input, rows));
  }
  input = {};
  bool turned = transformer.conv_in.has_value();
  for (std::size_t i = 0; i < transformer.blocks.size(); ++i) {
    const Scope scope(tape, "transformer_blocks", i);
    hidden = run(model, transformer.blocks[i], hidden, context, turned);
    turned = false;
  }
  Maps output;
  if (transformer.conv_out) {
    const Tensor copied = ops::copy(tape, hidden, planes, "planes");
    hidden = {};
    output = apply(model, *transformer.conv_out, maps(copied));
  } else {
    hidden = apply(model, *transformer.linear_out, hidden);
    output = maps(ops::copy(tape, hidden, planes, "planes"));
    hidden = {};
  }
  return add(model, output, x, "output");
}

Maps Unet::run_down(const Model& model, const Level& level, const Maps& x, const Hints& hints,
                    std::vector<Maps>& skipped) {
  Maps hidden = x;
  for (std::size_t i = 0; i < level.resnets.size(); ++i) {
    {
      const Scope scope(model.tape, "resnets", i);
      hidden = apply(model, level.resnets[i], hidden, hints.time);
    }
    if (!level.transformers.empty()) {
      const Scope scope(model.tape, "attentions", i);
      hidden = run(model, level.transformers[i], hidden, hints.context);
    }
    skipped.push_back(hidden);
  }
  if (level.sampler) {
    hidden = apply(model, *level.sampler, hidden);
    skipped.push_back(hidden);
  }
  return hidden;
}

Maps Unet::run_mid(const Model& model, const Maps& x, const Tensor& time,
                   const Tensor& context) const {
  const Scope scope(model.tape, "mid_block");
  Maps hidden = apply(model, mid_.resnets[0], x, time);
  hidden = run(model, mid_.transformers[0], hidden, context);
  return apply(model, mid_.resnets[1], hidden, time);
}

Maps Unet::run_up(const Model& model, const Level& level, const Maps& x, const Hints& hints,
                  const Left& left) {
  Maps hidden = x;
  for (std::size_t i = 0; i < level.resnets.size(); ++i) {
    hidden = join_channels(model.tape, hidden, left.skipped[left.skipped.size() - 1 - i]);
    {
      const Scope scope(model.tape, "resnets", i);
      hidden = apply(model, level.resnets[i], hidden, hints.time);
    }
    if (level.transformers.empty()) continue;
    const Scope scope(model.tape, "attentions", i);
    hidden = run(model, level.transformers[i], hidden, hints.context);
  }
  if (!level.sampler) return hidden;
  const Size to = left.size.value_or(Size{2 * hidden.shape[2], 2 * hidden.shape[3]});
  return upsample(model, *level.sampler, hidden, to);
}

Maps Unet::forward(const Model& model, const Maps& sample, const Condition& condition) const {
  Tape& tape = model.tape;
  const Scope scope(tape, "unet", Component::activations);
  const Tensor time = embed_time(model, sample);
  const Hints hints{time, condition.context};
  Maps hidden = apply(model, in_, sample);
  std::vector<Maps> skipped = {hidden};
  for (std::size_t i = 0; i < down_.size(); ++i) {
    const Scope inner(tape, "down_blocks", i);
    hidden = run_down(model, down_[i], hidden, hints, skipped);
  }
  hidden = run_mid(model, hidden, time, condition.context);
  // Sizes that halve with a rest are doubled to what the way down had.
  const std::uint64_t factor = std::uint64_t{1} << (shape_.levels.size() - 1);
  const bool uneven = sample.shape[2] % factor != 0 || sample.shape[3] % factor != 0;
  std::vector<Maps> given;  // A variable of the whole call.
  for (std::size_t i = 0; i < up_.size(); ++i) {
    const Scope inner(tape, "up_blocks", i);
    const auto begin = skipped.end() - static_cast<std::ptrdiff_t>(up_[i].resnets.size());
    given = std::vector<Maps>(begin, skipped.end());
    skipped.erase(begin, skipped.end());
    std::optional<Size> size;
    if (uneven && i + 1 < up_.size()) size = Size{skipped.back().shape[2], skipped.back().shape[3]};
    hidden = run_up(model, up_[i], hidden, hints, {given, size});
  }
  hidden = normalise_groups(model, norm_out_, hidden);
  hidden = maps(ops::silu(tape, hidden, "conv_act"));
  return apply(model, out_, hidden);
}

}  // namespace headroom::estimate::diffusion
