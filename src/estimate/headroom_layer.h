// SPDX-License-Identifier: Apache-2.0
// One layer of a step, forward and backward (src/trainer/layer.cpp, statement by statement).
#pragma once

#include <array>
#include <initializer_list>
#include <optional>
#include <vector>

#include "estimate/headroom_ops.h"
#include "estimate/headroom_parameters.h"
#include "estimate/tape.h"

namespace headroom::estimate::ours {

// What forward leaves for backward (trainer/layer.h).
struct LayerSaved {
  Tensor x, h;
  NormResult norm1, norm2;
  Tensor raw_q, raw_k;  // In front of the norm of heads, where there is one.
  Tensor q_rstd, k_rstd;
  Qkv qkv;
  AttentionResult attention;
  Tensor attention_out, mlp_out;  // In front of the norms of what the halves give.
  Tensor attention_out_stats, mlp_out_stats;
  Tensor gate, up, act;
  std::array<LinearSaved, projection_count> projections;
  LinearSaved qkv_adapter, gate_up_adapter;

  // All of them, defined or not.
  std::vector<Tensor*> tensors();

  LinearSaved& of(Target target) { return projections[static_cast<std::size_t>(target)]; }
};

// What of a layer is needed later.
struct Keep {
  bool anything = false;
  bool input_gradient = false;
  bool products_only = false;
};

// Everything it is made with outlives it. `turns_heads`: positions are rotations of heads.
class LayerRun {
 public:
  LayerRun(const Ops& ops, const Layer& layer, Keep keep, LayerSaved& saved, bool turns_heads)
      : ops_(ops),
        layer_(layer),
        keep_(keep),
        saved_(saved),
        turns_heads_(turns_heads),
        attention_runs_back_(keep.anything && (keep.input_gradient || layer.attention_trains())) {}

  Tensor forward(const Tensor& x);
  void backward(const Tensor& grad);

 private:
  Tensor project(Target target, const Tensor& x);
  void project_backward(Target target, const Tensor& grad, const Tensor& x, Tensor* dx);
  void forget(std::initializer_list<Target> targets);
  // Of an adapter that projections share, if there is one.
  void add_shared(const Linear& adapter, const Tensor& x, std::initializer_list<const Tensor*> outs,
                  LinearSaved& saved);
  std::optional<SharedAdapterGradients> begin_shared(const Linear& adapter) const;
  // x becomes its norm by heads; what it was is kept for the backward pass.
  void normalise_heads(const Parameter* weight, Tensor& x, Tensor& raw, Tensor& rstd);
  void normalise_heads_backward(Parameter* weight, Tensor& raw, Tensor& rstd);
  // x becomes its norm, where there is one; what it was is kept for the backward pass.
  void normalise_out(const Norm& norm, bool kept, Tensor& x, Tensor& raw, Tensor& stats);
  // Of what the half gave: undefined where it is the running gradient itself.
  Tensor normalise_out_backward(const Norm& norm, const Tensor& grad, Tensor& raw, Tensor& stats);
  Tensor attention_half(const Tensor& x);
  Tensor activation();
  Tensor mlp_half(const Tensor& h);
  // Takes d act, which becomes d gate where there is a gate, and else what is returned: d up.
  Tensor activation_backward(Tensor& grad);
  void mlp_half_backward(const Tensor& grad);
  void attention_half_backward(const Tensor& grad);

  const Ops& ops_;
  const Layer& layer_;
  Keep keep_;
  LayerSaved& saved_;
  bool turns_heads_;
  bool attention_runs_back_;
};

}  // namespace headroom::estimate::ours
