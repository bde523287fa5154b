// SPDX-License-Identifier: Apache-2.0
// diffusers' Attention (models/attention_processor.py) and PyTorch's kernels below it.
#pragma once

#include <cstdint>
#include <optional>

#include "estimate/diffusion/layers.h"

namespace headroom::estimate::diffusion {

struct AttentionLayer {
  Linear q, k, v, out;
  std::uint64_t heads = 1;
  bool upcast_scores = false;   // Attention(upcast_attention): AttnProcessor alone heeds it.
  bool upcast_softmax = false;  // Likewise.
};

struct AttentionWidths {
  std::uint64_t width = 0;
  std::uint64_t context = 0;  // Of what keys and values are made from.
  std::uint64_t heads = 1;
  bool bias = false;  // Of q, k and v.
};
AttentionLayer make_attention(Weights& weights, const AttentionWidths& widths);

// scaled_dot_product_attention on [batch, heads, rows, width] of each head, whose heads lie behind
// one another in a row; the result as rows [batch, rows, heads × width].
Tensor attend(const Model& model, const Tensor& q, const Tensor& k, const Tensor& v);
// The same with a mask for the efficient kernel, [1 or batch, heads, rows, keys].
Tensor attend_masked(const Model& model, const Tensor& q, const Tensor& k, const Tensor& v,
                     const Tensor& mask);

// The whole layer on x [batch, rows, width]; keys and values from `context` if there is one.
// `turned`: x is a transposed image.
Tensor apply(const Model& model, const AttentionLayer& layer, const Tensor& x,
             const Tensor* context = nullptr, bool turned = false);

}  // namespace headroom::estimate::diffusion
