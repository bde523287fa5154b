// SPDX-License-Identifier: Apache-2.0
// The encoders of prompts as transformers runs them: CLIP's text model (models/clip/
// modeling_clip.py) and T5's encoder (models/t5/modeling_t5.py).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "estimate/diffusion/attention.h"
#include "estimate/diffusion/shapes.h"

namespace headroom::estimate::diffusion {

class Clip {
 public:
  Clip(Weights& weights, const ClipShape& shape);

  struct Output {
    Tensor last, pooled;         // [prompts, tokens, width]; [prompts, width]
    std::vector<Tensor> hidden;  // Of every layer, where they are asked for.
  };
  // `ids` are [prompts, tokens].
  Output forward(const Model& model, const Tensor& ids, bool all_hidden) const;

 private:
  struct Layer {
    Norm norm1;
    AttentionLayer attention;
    Norm norm2;
    Linear up, down;
  };
  Tensor run(const Model& model, const Layer& layer, const Tensor& x) const;

  ClipShape shape_;
  Parameter* tokens_ = nullptr;
  Parameter* positions_ = nullptr;
  std::vector<Layer> layers_;
  Norm final_;
  std::optional<Linear> projection_;
};

class T5 {
 public:
  T5(Weights& weights, const T5Shape& shape);

  Tensor forward(const Model& model, const Tensor& ids) const;  // [prompts, tokens, width]

 private:
  struct Layer {
    Norm norm1;
    AttentionLayer attention;
    Norm norm2;
    Linear gate;  // wi_0, or wi where nothing is gated.
    std::optional<Linear> up;
    Linear down;
  };
  Tensor bias_of(const Model& model, std::uint64_t tokens) const;
  Tensor attend(const Model& model, const Layer& layer, const Tensor& x, Tensor& bias) const;
  static Tensor feed_forward(const Model& model, const Layer& layer, const Tensor& x);

  T5Shape shape_;
  Parameter* tokens_ = nullptr;
  Parameter* buckets_ = nullptr;  // relative_attention_bias, the first layer's
  std::vector<Layer> layers_;
  Norm final_;
};

// The vision tower that looks at SD 1.5's images. Its run is smaller than the VAE's, and only its
// weights are planned.
void make_checker(Weights& weights, const CheckerShape& shape);

}  // namespace headroom::estimate::diffusion
