// SPDX-License-Identifier: Apache-2.0
#include "estimate/diffusion/vae.h"

#include <algorithm>
#include <utility>

namespace headroom::estimate::diffusion {

Vae::Vae(Weights& weights, const VaeShape& shape) : shape_(shape) {
  make_encoder(weights);
  make_decoder(weights);
  const std::uint64_t latent = shape.latent;
  if (shape.quant) quant_ = make_convolution(weights, "quant_conv", {2 * latent, 2 * latent, 1});
  if (shape.post_quant)
    post_quant_ = make_convolution(weights, "post_quant_conv", {latent, latent, 1});
}

Vae::Mid Vae::make_mid(Weights& weights) const {
  const Scope scope(weights.tape(), "mid_block");
  const std::uint64_t width = shape_.widths.back();
  Mid mid;
  if (shape_.mid_attends) {
    const Scope inner(weights.tape(), "attentions", 0);
    Attention attention;
    attention.norm = make_norm(weights, "group_norm", width, shape_.groups);
    attention.layer = make_attention(weights, {width, width, 1, true});
    attention.layer.upcast_softmax = true;
    mid.attention = attention;
  }
  for (std::uint64_t i = 0; i < 2; ++i) {
    const Scope inner(weights.tape(), "resnets", i);
    mid.resnets.push_back(make_resnet(weights, {width, width, 0, shape_.groups}));
  }
  return mid;
}

void Vae::make_encoder(Weights& weights) {
  Tape& tape = weights.tape();
  const Scope scope(tape, "encoder");
  std::uint64_t width = shape_.widths.front();
  encoder_in_ = make_convolution(weights, "conv_in", {shape_.channels, width});
  for (std::size_t i = 0; i < shape_.widths.size(); ++i) {
    const Scope inner(tape, "down_blocks", i);
    Level level;
    for (std::uint64_t j = 0; j < shape_.layers; ++j) {
      const Scope resnet(tape, "resnets", j);
      level.resnets.push_back(make_resnet(weights, {width, shape_.widths[i], 0, shape_.groups}));
      width = shape_.widths[i];
    }
    if (i + 1 < shape_.widths.size())
      level.sampler = make_convolution(weights, "downsamplers.0.conv", {width, width, 3, 2});
    down_.push_back(std::move(level));
  }
  encoder_mid_ = make_mid(weights);
  encoder_norm_ = make_norm(weights, "conv_norm_out", width, shape_.groups);
  encoder_out_ = make_convolution(weights, "conv_out", {width, 2 * shape_.latent});
}

void Vae::make_decoder(Weights& weights) {
  Tape& tape = weights.tape();
  const Scope scope(tape, "decoder");
  const std::size_t count = shape_.widths.size();
  std::uint64_t width = shape_.widths.back();
  decoder_in_ = make_convolution(weights, "conv_in", {shape_.latent, width});
  for (std::size_t i = 0; i < count; ++i) {
    const Scope inner(tape, "up_blocks", i);
    const std::uint64_t out = shape_.widths[count - 1 - i];
    Level level;
    for (std::uint64_t j = 0; j <= shape_.layers; ++j) {
      const Scope resnet(tape, "resnets", j);
      level.resnets.push_back(make_resnet(weights, {width, out, 0, shape_.groups}));
      width = out;
    }
    if (i + 1 < count)
      level.sampler = make_convolution(weights, "upsamplers.0.conv", {width, width});
    up_.push_back(std::move(level));
  }
  decoder_mid_ = make_mid(weights);
  decoder_norm_ = make_norm(weights, "conv_norm_out", width, shape_.groups);
  decoder_out_ = make_convolution(weights, "conv_out", {width, shape_.channels});
}

// The image is transposed into rows and back without a copy, so that what follows has its channels
// innermost until a convolution wants planes.
Maps Vae::run(const Model& model, const Attention& attention, const Maps& x) {
  const Shape planes = x.shape;
  const Shape rows = {planes[0], planes[2] * planes[3], planes[1]};
  const Maps normed = normalise_groups(model, attention.norm, x);
  Maps hidden = maps(apply(model, attention.layer, Tape::view(normed, rows), nullptr, true), true);
  hidden.shape = planes;
  hidden = add(model, hidden, x, "with_residual");
  return scale(model, hidden, "rescaled");
}

Maps Vae::run(const Model& model, const Mid& mid, const Maps& x) {
  const Scope scope(model.tape, "mid_block");
  Maps hidden = apply(model, mid.resnets[0], x, {});
  if (mid.attention) {
    const Scope inner(model.tape, "attentions", 0);
    hidden = run(model, *mid.attention, hidden);
  }
  return apply(model, mid.resnets[1], hidden, {});
}

Maps Vae::run(const Model& model, const Level& level, const Maps& x) {
  Maps hidden = x;
  for (std::size_t i = 0; i < level.resnets.size(); ++i) {
    const Scope scope(model.tape, "resnets", i);
    hidden = apply(model, level.resnets[i], hidden, {});
  }
  if (!level.sampler) return hidden;
  return upsample(model, *level.sampler, hidden, {2 * hidden.shape[2], 2 * hidden.shape[3]});
}

Maps Vae::run_decoder(const Model& model, const Maps& latents) const {
  const Scope scope(model.tape, "decoder");
  Maps hidden = apply(model, decoder_in_, latents);
  hidden = run(model, decoder_mid_, hidden);
  for (std::size_t i = 0; i < up_.size(); ++i) {
    const Scope inner(model.tape, "up_blocks", i);
    hidden = run(model, up_[i], hidden);
  }
  hidden = normalise_groups(model, decoder_norm_, hidden);
  hidden = maps(ops::silu(model.tape, hidden, "conv_act"));
  return apply(model, decoder_out_, hidden);
}

// tiled_decode: tiles that overlap by a quarter are decoded one after the other, kept until all are
// there, and blended into one another before they are joined.
Maps Vae::decode_tiles(const Model& model, const Maps& latents) const {
  Tape& tape = model.tape;
  const std::uint64_t side = shape_.sample_size / shape_.factor();
  const std::uint64_t step = side * 3 / 4;
  const std::uint64_t limit = shape_.sample_size - shape_.sample_size / 4;
  std::vector<std::vector<Maps>> rows;
  for (std::uint64_t y = 0; y < latents.shape[2]; y += step) {
    rows.emplace_back();
    for (std::uint64_t x = 0; x < latents.shape[3]; x += step) {
      Maps tile = latents;
      tile.shape[2] = std::min(side, latents.shape[2] - y);
      tile.shape[3] = std::min(side, latents.shape[3] - x);
      const bool whole = tile.shape == latents.shape;
      if (post_quant_) {
        tile.channels_last = !whole;  // A cut-out is copied as well.
        tile = apply(model, *post_quant_, tile);
      }
      rows.back().push_back(run_decoder(model, tile));
    }
  }
  Meta whole = rows.front().front().meta();
  whole.shape[2] = whole.shape[3] = 0;
  std::vector<Tensor> joined;
  for (const std::vector<Maps>& row : rows) {
    Meta meta = row.front().meta();
    meta.shape[2] = std::min(limit, meta.shape[2]);
    meta.shape[3] = 0;
    for (const Maps& tile : row) meta.shape[3] += std::min(limit, tile.shape[3]);
    joined.push_back(tape.empty("tiles.row", meta));
    whole.shape[2] += meta.shape[2];
    whole.shape[3] = meta.shape[3];
  }
  return maps(tape.empty("tiles.joined", whole));
}

Maps Vae::decode_whole(const Model& model, const Maps& latents, const Decoding& how) const {
  const std::uint64_t side = shape_.sample_size / shape_.factor();
  if (how.tiling && (latents.shape[2] > side || latents.shape[3] > side))
    return decode_tiles(model, latents);
  Maps hidden = latents;
  if (post_quant_) hidden = apply(model, *post_quant_, hidden);
  return run_decoder(model, hidden);
}

Maps Vae::decode(const Model& model, const Maps& latents, const Decoding& how) const {
  const Scope scope(model.tape, "vae", Component::activations);
  const std::uint64_t images = latents.shape[0];
  if (!how.slicing || images == 1) return decode_whole(model, latents, how);
  std::vector<Maps> decoded;
  for (std::uint64_t i = 0; i < images; ++i) {
    Maps one = latents;
    one.shape[0] = 1;
    decoded.push_back(decode_whole(model, one, how));
  }
  Meta all = decoded.front().meta();
  all.shape[0] = images;
  return maps(model.tape.empty("images", all));
}

}  // namespace headroom::estimate::diffusion
