// SPDX-License-Identifier: Apache-2.0
// AutoencoderKL: diffusers' models/autoencoders/autoencoder_kl.py and vae.py.
#pragma once

#include <optional>
#include <vector>

#include "estimate/diffusion/attention.h"
#include "estimate/diffusion/blocks.h"
#include "estimate/diffusion/shapes.h"

namespace headroom::estimate::diffusion {

struct Decoding {
  bool slicing = false;  // enable_vae_slicing
  bool tiling = false;   // enable_vae_tiling
};

class Vae {
 public:
  Vae(Weights& weights, const VaeShape& shape);

  // vae.decode() of latents [images, channels, height, width].
  Maps decode(const Model& model, const Maps& latents, const Decoding& how) const;

 private:
  struct Attention {
    Norm norm;
    AttentionLayer layer;
  };
  struct Mid {
    std::vector<Resnet> resnets;
    std::optional<Attention> attention;
  };
  struct Level {
    std::vector<Resnet> resnets;
    std::optional<Convolution> sampler;
  };

  Mid make_mid(Weights& weights) const;
  void make_encoder(Weights& weights);
  void make_decoder(Weights& weights);
  static Maps run(const Model& model, const Attention& attention, const Maps& x);
  static Maps run(const Model& model, const Mid& mid, const Maps& x);
  static Maps run(const Model& model, const Level& level, const Maps& x);
  Maps run_decoder(const Model& model, const Maps& latents) const;
  Maps decode_tiles(const Model& model, const Maps& latents) const;
  Maps decode_whole(const Model& model, const Maps& latents, const Decoding& how) const;

  VaeShape shape_;
  Convolution encoder_in_, encoder_out_, decoder_in_, decoder_out_;
  std::optional<Convolution> quant_, post_quant_;
  Norm encoder_norm_, decoder_norm_;
  std::vector<Level> down_, up_;
  Mid encoder_mid_, decoder_mid_;
};

}  // namespace headroom::estimate::diffusion
