// SPDX-License-Identifier: Apache-2.0
// What SD3's and Flux's transformers share: embeddings of time and prompt that shift and scale
// norms, and attention over image and prompt together (diffusers' models/normalization.py,
// models/embeddings.py, and the processors in attention_processor.py and transformer_flux.py).
#pragma once

#include <cstdint>
#include <optional>

#include "estimate/diffusion/attention.h"

namespace headroom::estimate::diffusion {

// Two layers around a SiLU.
struct Embedder {
  Linear first, second;
};
Embedder make_embedder(Weights& weights, Name name, const LinearShape& shape);
Tensor apply(const Model& model, const Embedder& embedder, const Tensor& x);
// Of one number for each sample: sines and cosines, 256 of them.
Tensor embed_number(const Model& model, const Embedder& embedder, std::uint64_t samples);

// AdaLayerNorm…: a norm without weights, shifted and scaled by parts of an embedding.
struct AdaNorm {
  Linear linear;
  std::uint64_t parts = 6;
};
AdaNorm make_ada_norm(Weights& weights, Name name, std::uint64_t width, std::uint64_t parts);

struct Modulated {
  Tensor x;
  Tensor second;     // SD3.5's for its second attention, if there are nine parts.
  Tensor embedding;  // What gates are views of.
};
Modulated apply(const Model& model, const AdaNorm& norm, const Tensor& x, const Tensor& time);
// norm(x) * (1 + scale) + shift
Tensor modulate(const Model& model, const Tensor& x, Name name);

// Tokens first is Flux's order (and its prompt comes before the image), heads first SD3's.
struct JointLayer {
  Linear q, k, v;
  std::optional<Linear> added_q, added_k, added_v;  // Of the prompt.
  std::optional<Linear> out, added_out;
  std::optional<Norm> norm_q, norm_k, norm_added_q, norm_added_k;
  std::uint64_t heads = 1;
  bool tokens_first = false;
};
struct JointShape {
  std::uint64_t width = 0, heads = 1;
  bool context = true;      // There is a prompt beside the image.
  bool context_out = true;  // The prompt is wanted again.
  bool out = true;
  bool norms = false;  // RMSNorm of queries and keys.
  bool tokens_first = false;
};
JointLayer make_joint(Weights& weights, Name name, const JointShape& shape);

struct Rotation {
  Tensor cos, sin;  // [rows, width of a head] in fp32
};
struct Attended {
  Tensor image, context;
};
Attended apply(const Model& model, const JointLayer& layer, const Tensor& image,
               const Tensor* context, const Rotation* rotation = nullptr);

// FeedForward(activation_fn = "gelu-approximate").
struct GeluFeed {
  Linear up, down;
};
GeluFeed make_gelu_feed(Weights& weights, Name name, std::uint64_t width);
Tensor apply(const Model& model, const GeluFeed& feed, const Tensor& x);

}  // namespace headroom::estimate::diffusion
