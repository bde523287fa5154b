// SPDX-License-Identifier: Apache-2.0
#include "estimate/diffusion/transformers.h"

#include <algorithm>

namespace headroom::estimate::diffusion {
namespace {

// gate * x, then added to the residual.
Tensor add_gated(Tape& tape, const Tensor& residual, const Tensor& x, Name name) {
  const Tensor gated = ops::scale(tape, x, name + ".gated");
  return ops::add(tape, residual, gated, name + ".sum");
}

// JointTransformerBlock's and FluxTransformerBlock's forward.
Streams run(const Model& model, const JointBlock& block, const Streams& in, const Tensor& time,
            const Rotation* rotation) {
  Tape& tape = model.tape;
  Modulated normed = apply(model, block.norm1, in.image, time);
  const Modulated normed_context = apply(model, block.norm1_context, in.context, time);
  Attended attended = apply(model, block.attention, normed.x, &normed_context.x, rotation);
  attended.image = ops::scale(tape, attended.image, "attn.gated");
  Streams out;
  out.image = ops::add(tape, in.image, attended.image, "attn.sum");
  Tensor second;
  if (block.second) {
    second = apply(model, *block.second, normed.second, nullptr).image;
    second = ops::scale(tape, second, "attn2.gated");
    out.image = ops::add(tape, out.image, second, "attn2.sum");
  }
  normed.x = modulate(model, out.image, "norm2");
  Tensor fed = apply(model, block.feed, normed.x);
  fed = ops::scale(tape, fed, "ff.gated");
  out.image = ops::add(tape, out.image, fed, "ff.sum");
  if (!block.feed_context) return out;
  attended.context = ops::scale(tape, attended.context, "context.attn.gated");
  out.context = ops::add(tape, in.context, attended.context, "context.attn.sum");
  const Tensor normed_again = modulate(model, out.context, "norm2_context");
  const Tensor fed_context = apply(model, *block.feed_context, normed_again);
  out.context = add_gated(tape, out.context, fed_context, "context.ff");
  return out;
}

JointBlock make_block(Weights& weights, const JointShape& attention, std::uint64_t parts,
                      bool second) {
  JointBlock block;
  const std::uint64_t width = attention.width;
  block.norm1 = make_ada_norm(weights, "norm1", width, parts);
  block.norm1_context =
      make_ada_norm(weights, "norm1_context", width, attention.context_out ? 6 : 2);
  block.attention = make_joint(weights, "attn", attention);
  if (second) {
    JointShape alone = attention;
    alone.context = false;
    block.second = make_joint(weights, "attn2", alone);
  }
  block.feed = make_gelu_feed(weights, "ff", width);
  if (attention.context_out) block.feed_context = make_gelu_feed(weights, "ff_context", width);
  return block;
}

}  // namespace

Mmdit::Mmdit(Weights& weights, const MmditShape& shape) : shape_(shape) {
  Tape& tape = weights.tape();
  const std::uint64_t width = shape.width();
  patches_ =
      make_convolution(weights, "pos_embed.proj", {shape.in, width, shape.patch, shape.patch});
  weights.add_buffer("pos_embed.pos_embed", {1, shape.positions * shape.positions, width});
  time_ = make_embedder(weights, "time_text_embed.timestep_embedder", {256, width});
  text_ = make_embedder(weights, "time_text_embed.text_embedder", {shape.pooled, width});
  context_ = make_linear(weights, "context_embedder", {shape.context, shape.caption});
  for (std::uint64_t i = 0; i < shape.layers; ++i) {
    const Scope scope(tape, "transformer_blocks", i);
    const bool dual = std::find(shape.dual.begin(), shape.dual.end(), i) != shape.dual.end();
    JointShape attention;
    attention.width = width;
    attention.heads = shape.heads;
    attention.norms = shape.qk_norm;
    attention.context_out = i + 1 < shape.layers;
    blocks_.push_back(make_block(weights, attention, dual ? 9 : 6, dual));
  }
  norm_out_ = make_ada_norm(weights, "norm_out", width, 2);
  out_ = make_linear(weights, "proj_out", {width, shape.patch * shape.patch * shape.out});
}

Maps Mmdit::forward(const Model& model, const Maps& latents, const Tensor& context,
                    const Tensor& pooled) const {
  Tape& tape = model.tape;
  const Scope scope(tape, "transformer", Component::activations);
  Streams streams;
  {
    const Maps patches = apply(model, patches_, latents);
    const Shape rows = {patches.shape[0], patches.shape[2] * patches.shape[3], patches.shape[1]};
    const Needed needed(model.weights, {patches_.weight, patches_.bias});
    const Tensor cropped =
        tape.empty("pos_embed.cropped", {{1, rows[1], rows[2]}, patches.element});
    streams.image = ops::add(tape, Tape::view(patches, rows), cropped, "pos_embed");
  }
  streams.image = ops::copy(tape, streams.image, streams.image.shape, "pos_embed.contiguous");
  Tensor time;
  {
    const Tensor number = embed_number(model, time_, latents.shape[0]);
    const Tensor text = apply(model, text_, pooled);
    time = ops::add(tape, number, text, "time_text_embed");
  }
  streams.context = apply(model, context_, context);
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    const Scope inner(tape, "transformer_blocks", i);
    streams = run(model, blocks_[i], streams, time, nullptr);
  }
  Tensor hidden;
  {
    const Modulated normed = apply(model, norm_out_, streams.image, time);
    hidden = normed.x;
  }
  streams = {};
  hidden = apply(model, out_, hidden);
  Meta noise = latents.meta();
  noise.shape[1] = shape_.out;
  return maps(tape.empty("unpatched", noise));
}

Flux::Flux(Weights& weights, const FluxShape& shape) : shape_(shape) {
  Tape& tape = weights.tape();
  const std::uint64_t width = shape.width();
  time_ = make_embedder(weights, "time_text_embed.timestep_embedder", {256, width});
  if (shape.guidance)
    guidance_ = make_embedder(weights, "time_text_embed.guidance_embedder", {256, width});
  text_ = make_embedder(weights, "time_text_embed.text_embedder", {shape.pooled, width});
  context_ = make_linear(weights, "context_embedder", {shape.context, width});
  image_ = make_linear(weights, "x_embedder", {shape.in, width});
  JointShape attention;
  attention.width = width;
  attention.heads = shape.heads;
  attention.norms = true;
  attention.tokens_first = true;
  for (std::uint64_t i = 0; i < shape.layers; ++i) {
    const Scope scope(tape, "transformer_blocks", i);
    blocks_.push_back(make_block(weights, attention, 6, /*second=*/false));
  }
  attention.context = false;
  attention.out = false;
  for (std::uint64_t i = 0; i < shape.single_layers; ++i) {
    const Scope scope(tape, "single_transformer_blocks", i);
    Single block;
    block.norm = make_ada_norm(weights, "norm", width, 3);
    block.up = make_linear(weights, "proj_mlp", {width, 4 * width});
    block.out = make_linear(weights, "proj_out", {5 * width, width});
    block.attention = make_joint(weights, "attn", attention);
    singles_.push_back(block);
  }
  norm_out_ = make_ada_norm(weights, "norm_out", width, 2);
  out_ = make_linear(weights, "proj_out", {width, shape.in});
}

Tensor Flux::embed(const Model& model, const Tensor& pooled) const {
  Tape& tape = model.tape;
  const std::uint64_t images = pooled.shape[0];
  Tensor time = embed_number(model, time_, images);
  if (guidance_) {
    const Tensor guidance = embed_number(model, *guidance_, images);
    time = ops::add(tape, time, guidance, "time_guidance");
  }
  const Tensor text = apply(model, text_, pooled);
  return ops::add(tape, time, text, "time_text_embed");
}

// FluxSingleTransformerBlock: the prompt's rows before the image's, in one stream.
Tensor Flux::run(const Model& model, const Single& block, const Streams& streams,
                 const Tensor& time, const Rotation& rotation) const {
  Tape& tape = model.tape;
  Meta meta = streams.image.meta();
  meta.shape[1] += streams.context.shape[1];
  const Tensor residual = tape.empty("rows", meta);
  const Modulated normed = apply(model, block.norm, residual, time);
  Tensor inner;
  {
    const Tensor raw = apply(model, block.up, normed.x);
    inner = ops::gelu(tape, raw, "gelu");
  }
  const Tensor attended = apply(model, block.attention, normed.x, nullptr, &rotation).image;
  meta.shape.back() *= 5;
  Tensor hidden = tape.empty("attention_and_mlp", meta);
  {
    const Tensor out = apply(model, block.out, hidden);
    hidden = ops::scale(tape, out, "gated");
  }
  hidden = ops::add(tape, residual, hidden, "sum");
  if (hidden.element == Element::fp16) hidden = ops::scale(tape, hidden, "clipped");
  return hidden;
}

Tensor Flux::forward(const Model& model, const Tensor& latents, const Tensor& context,
                     const Tensor& pooled) const {
  Tape& tape = model.tape;
  const Scope scope(tape, "transformer", Component::activations);
  Streams streams;
  streams.image = apply(model, image_, latents);
  const Tensor time = embed(model, pooled);
  streams.context = apply(model, context_, context);
  const std::uint64_t rows = latents.shape[1] + context.shape[1];
  const Meta angles = {{rows, shape_.head}, Element::fp32};
  Rotation rotation;
  rotation.cos = tape.empty("rotary.cos", angles);
  rotation.sin = tape.empty("rotary.sin", angles);
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    const Scope inner(tape, "transformer_blocks", i);
    streams = diffusion::run(model, blocks_[i], streams, time, &rotation);
    if (streams.context.element == Element::fp16)
      streams.context = ops::scale(tape, streams.context, "context.clipped");
  }
  for (std::size_t i = 0; i < singles_.size(); ++i) {
    const Scope inner(tape, "single_transformer_blocks", i);
    // Both streams are views of what the block gives.
    const Tensor both = run(model, singles_[i], streams, time, rotation);
    streams.image = Tape::view(both, streams.image.shape);
    streams.context = Tape::view(both, streams.context.shape);
  }
  const Modulated normed = apply(model, norm_out_, streams.image, time);
  return apply(model, out_, normed.x);
}

}  // namespace headroom::estimate::diffusion
