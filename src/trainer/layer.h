// SPDX-License-Identifier: Apache-2.0
// One decoder layer, forward and backward, written out: what is kept for the backward pass stands
// in LayerSaved, and every tensor dies at a line that can be pointed at. That makes the order and
// the sizes of a step's allocations a property of this file, not of an autograd engine's version.
//
//   h   = x + o(attention(rotary(q(n1), k(n1)), v(n1)))     n1 = rms_norm(x)
//         (Qwen3: rotary(rms_norm(q(n1)), rms_norm(k(n1))), each head by itself)
//   out = h + down(swiglu(gate(n2), up(n2)))                n2 = rms_norm(h)
//
// Gemma: geglu in place of swiglu. Gemma 2: what o and down give is normalised before it is added.
//
// GPT-2: q, k and v are columns of one projection, which stands in the place of q; there is no
// rotary; norms are LayerNorm; out = h + down(gelu(up(n2))).
#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <cstdint>
#include <optional>

#include "estimate/job.h"
#include "trainer/ops/attention.h"
#include "trainer/ops/linear.h"
#include "trainer/ops/norm.h"
#include "trainer/ops/rotary.h"
#include "trainer/parameter.h"

namespace headroom::trainer {

inline constexpr std::size_t projection_count = 7;

struct Layer {
  ops::Norm input_norm;
  ops::Norm mlp_norm;            // Of h: post_attention_layernorm; in Gemma 2 pre_feedforward_….
  ops::Norm attention_out_norm;  // Gemma 2: post_attention_layernorm.
  ops::Norm mlp_out_norm;        // Gemma 2: post_feedforward_layernorm.
  Parameter* q_norm = nullptr;   // [head_dim]; null where heads are not normalised, as k_norm.
  Parameter* k_norm = nullptr;
  // Phi-3: of q, k and v together, and of gate and up (ops/shared_adapter.h).
  std::optional<ops::Adapter> qkv_adapter, gate_up_adapter;
  bool gelu_gate = false;                                 // Gemma: geglu in place of swiglu.
  std::array<ops::Linear, projection_count> projections;  // Indexed by estimate::Target.

  ops::Linear& operator[](estimate::Target t) { return projections[static_cast<std::size_t>(t)]; }
  const ops::Linear& operator[](estimate::Target t) const {
    return projections[static_cast<std::size_t>(t)];
  }
  bool is_gated() const { return (*this)[estimate::Target::gate].exists(); }
  bool has_one_qkv() const { return !(*this)[estimate::Target::k].exists(); }
  bool attention_trains() const;
  bool mlp_trains() const;
};

// What all layers share during one pass over a micro-batch.
struct Pass {
  ops::AttentionShape shape;
  const ops::RotaryTables& rotary;  // Undefined where heads are not turned.
  double norm_eps = 1e-6;
  estimate::Attention attention = estimate::Attention::efficient;
  std::optional<std::uint64_t> dropout_seed;  // Of the layer's masks; none: no dropout.
};

// Heads before they are normalised, and what they were divided by.
struct HeadNormSaved {
  at::Tensor x;     // [N·heads, D]
  at::Tensor rstd;  // [N·heads, 1]
};

// What o or down gave, where that is normalised.
struct OutNormSaved {
  at::Tensor x;      // [N, H]
  at::Tensor stats;  // As norm_result.h says.
};

// What forward leaves for backward. N rows of all samples; what training does not need is
// undefined.
struct LayerSaved {
  at::Tensor x;                    // [N, H]
  ops::NormResult norm1;           // [N, H] and what norm_result.h says
  HeadNormSaved q_norm, k_norm;    // where heads are normalised
  ops::Qkv qkv;                    // after rotary
  ops::AttentionResult attention;  // [N, heads·D] and logsumexp or probabilities
  OutNormSaved attention_out, mlp_out;
  at::Tensor h;           // [N, H]
  ops::NormResult norm2;  // as norm1
  at::Tensor gate, up;    // [N, I]; gate where there is one
  at::Tensor act;         // [N, I]
  std::array<ops::LinearSaved, projection_count> projections;
  ops::LinearSaved qkv_adapter, gate_up_adapter;
};

// What has to be kept: nothing (the layer is computed again, or nothing trains), or what the
// gradients of the layer's own parameters and, with `input_gradient`, of x need. `products_only`:
// what backward can make again without a product of matrices, norms and activations, is not kept.
struct Keep {
  bool anything = false;
  bool input_gradient = false;
  bool products_only = false;
};

// Returns out [N, H].
at::Tensor forward(const Layer& layer, const at::Tensor& x, const Pass& pass, Keep keep,
                   LayerSaved& saved);

// `grad` [N, H] holds d loss / d out on entry and d loss / d x on return (if keep.input_gradient;
// else it is left unfinished). Uses up `saved`.
void backward(const Layer& layer, const Pass& pass, Keep keep, LayerSaved& saved, at::Tensor& grad);

}  // namespace headroom::trainer
