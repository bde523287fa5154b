// SPDX-License-Identifier: Apache-2.0
// What UNets and VAEs share: ResnetBlock2D and the samplers between resolutions (diffusers'
// models/resnet.py, upsampling.py and downsampling.py).
#pragma once

#include <cstdint>
#include <optional>

#include "estimate/diffusion/layers.h"

namespace headroom::estimate::diffusion {

struct Resnet {
  Norm norm1;
  Convolution conv1;
  std::optional<Linear> time;  // time_emb_proj
  Norm norm2;
  Convolution conv2;
  std::optional<Convolution> shortcut;  // Where the number of channels changes.
};

struct ResnetShape {
  std::uint64_t in = 0, out = 0;
  std::uint64_t time = 0;  // Width of the time's embedding; 0: there is none.
  std::uint64_t groups = 32;
};
Resnet make_resnet(Weights& weights, const ResnetShape& shape);
// `time` is [images, width], or undefined.
Maps apply(const Model& model, const Resnet& resnet, const Maps& x, const Tensor& time);

struct Size {
  std::uint64_t height = 0, width = 0;
};

// Upsample2D: to that size, then a convolution.
Maps upsample(const Model& model, const Convolution& convolution, const Maps& x, const Size& size);

}  // namespace headroom::estimate::diffusion
