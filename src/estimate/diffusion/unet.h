// SPDX-License-Identifier: Apache-2.0
// UNet2DConditionModel: diffusers' models/unets/unet_2d_condition.py and unet_2d_blocks.py, and the
// transformers within its blocks (models/transformers/transformer_2d.py, models/attention.py).
#pragma once

#include <optional>
#include <vector>

#include "estimate/diffusion/attention.h"
#include "estimate/diffusion/blocks.h"
#include "estimate/diffusion/shapes.h"

namespace headroom::estimate::diffusion {

class Unet {
 public:
  Unet(Weights& weights, const UnetShape& shape);

  // What one step is given beside the latents: the prompts [images, tokens, width], for SDXL the
  // pooled ones and the sizes [images, 6].
  struct Condition {
    Tensor context, pooled, sizes;
  };
  // Noise as large as `sample` [images, channels, height, width].
  Maps forward(const Model& model, const Maps& sample, const Condition& condition) const;

 private:
  struct Transformer {
    struct Block {
      Norm norm1;
      AttentionLayer attn1;
      Norm norm2;
      AttentionLayer attn2;
      Norm norm3;
      Linear up, down;
    };
    Norm norm;
    std::optional<Convolution> conv_in, conv_out;  // One pair of the two.
    std::optional<Linear> linear_in, linear_out;
    std::vector<Block> blocks;
  };
  struct Level {
    std::vector<Resnet> resnets;
    std::vector<Transformer> transformers;  // Empty, or one behind each resnet.
    std::optional<Convolution> sampler;
  };
  struct Placed {
    std::uint64_t width = 0, heads = 0, depth = 0;
  };

  Transformer make_transformer(Weights& weights, const Placed& placed) const;
  void make_down(Weights& weights);
  void make_mid(Weights& weights);
  void make_up(Weights& weights);
  Tensor embed_time(const Model& model, const Maps& sample) const;
  static Tensor run(const Model& model, const Transformer::Block& block, const Tensor& x,
                    const Tensor& context, bool turned);
  static Maps run(const Model& model, const Transformer& transformer, const Maps& x,
                  const Tensor& context);
  // What every block reads beside the maps.
  struct Hints {
    const Tensor& time;
    const Tensor& context;
  };
  // What the way down left for a level of the way up, and the size to be doubled to, where doubling
  // would miss it.
  struct Left {
    const std::vector<Maps>& skipped;
    std::optional<Size> size;
  };
  static Maps run_down(const Model& model, const Level& level, const Maps& x, const Hints& hints,
                       std::vector<Maps>& skipped);
  Maps run_mid(const Model& model, const Maps& x, const Tensor& time, const Tensor& context) const;
  static Maps run_up(const Model& model, const Level& level, const Maps& x, const Hints& hints,
                     const Left& left);

  UnetShape shape_;
  std::uint64_t time_width_ = 0;
  Linear time1_, time2_;
  std::optional<Linear> added1_, added2_;
  Convolution in_, out_;
  Norm norm_out_;
  std::vector<Level> down_, up_;
  Level mid_;
};

}  // namespace headroom::estimate::diffusion
