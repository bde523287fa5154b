// SPDX-License-Identifier: Apache-2.0
// The transformers that denoise in the place of a UNet: SD3Transformer2DModel and
// FluxTransformer2DModel (diffusers' models/transformers/transformer_sd3.py, transformer_flux.py,
// and JointTransformerBlock in models/attention.py).
#pragma once

#include <optional>
#include <vector>

#include "estimate/diffusion/joint_attention.h"
#include "estimate/diffusion/shapes.h"

namespace headroom::estimate::diffusion {

// The image's rows and the prompt's, which attend to each other.
struct Streams {
  Tensor image, context;
};

// A block with an image and a prompt beside each other.
struct JointBlock {
  AdaNorm norm1, norm1_context;
  JointLayer attention;
  std::optional<JointLayer> second;  // SD3.5: of the image alone.
  GeluFeed feed;
  std::optional<GeluFeed> feed_context;  // Not of SD3's last.
};

class Mmdit {
 public:
  Mmdit(Weights& weights, const MmditShape& shape);
  // `latents` [images, channels, height, width], `context` [images, tokens, width], `pooled`
  // [images, width]; the noise as large as the latents.
  Maps forward(const Model& model, const Maps& latents, const Tensor& context,
               const Tensor& pooled) const;

 private:
  MmditShape shape_;
  Convolution patches_;
  Embedder time_, text_;
  Linear context_;
  std::vector<JointBlock> blocks_;
  AdaNorm norm_out_;
  Linear out_;
};

class Flux {
 public:
  Flux(Weights& weights, const FluxShape& shape);
  // `latents` packed, [images, patches, channels].
  Tensor forward(const Model& model, const Tensor& latents, const Tensor& context,
                 const Tensor& pooled) const;

 private:
  struct Single {
    AdaNorm norm;
    Linear up, out;
    JointLayer attention;
  };
  Tensor embed(const Model& model, const Tensor& pooled) const;
  Tensor run(const Model& model, const Single& block, const Streams& streams, const Tensor& time,
             const Rotation& rotation) const;

  FluxShape shape_;
  Linear image_, context_;
  Embedder time_, text_;
  std::optional<Embedder> guidance_;
  std::vector<JointBlock> blocks_;
  std::vector<Single> singles_;
  AdaNorm norm_out_;
  Linear out_;
};

}  // namespace headroom::estimate::diffusion
