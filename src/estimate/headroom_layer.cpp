// SPDX-License-Identifier: Apache-2.0
#include "estimate/headroom_layer.h"

#include <utility>

namespace headroom::estimate::ours {

std::vector<Tensor*> LayerSaved::tensors() {
  std::vector<Tensor*> all = {&x,
                              &h,
                              &norm1.out,
                              &norm1.stats,
                              &norm2.out,
                              &norm2.stats,
                              &raw_q,
                              &raw_k,
                              &q_rstd,
                              &k_rstd,
                              &qkv.q,
                              &qkv.k,
                              &qkv.v,
                              &gate,
                              &qkv.all,
                              &attention.out,
                              &up,
                              &attention.saved,
                              &act,
                              &mlp_out,
                              &attention_out,
                              &attention_out_stats,
                              &mlp_out_stats};
  const auto add = [&](LinearSaved& one) { all.insert(all.end(), {&one.reduced, &one.dropped}); };
  for (LinearSaved& one : projections) add(one);
  add(qkv_adapter);
  add(gate_up_adapter);
  return all;
}

Tensor LayerRun::forward(const Tensor& x) {
  if (attention_runs_back_) saved_.x = x;
  Tensor h = attention_half(x);
  Tensor out = mlp_half(h);
  if (keep_.anything) saved_.h = std::move(h);
  return out;
}

void LayerRun::backward(const Tensor& grad) {
  mlp_half_backward(grad);
  if (attention_runs_back_) attention_half_backward(grad);
  saved_ = {};
}

Tensor LayerRun::project(Target target, const Tensor& x) {
  return ops_.linear(layer_[target], x, saved_.of(target));
}

void LayerRun::project_backward(Target target, const Tensor& grad, const Tensor& x, Tensor* dx) {
  ops_.linear_backward(layer_[target], grad, x, saved_.of(target), dx);
}

void LayerRun::forget(std::initializer_list<Target> targets) {
  for (const Target target : targets) saved_.of(target) = {};
}

void LayerRun::add_shared(const Linear& adapter, const Tensor& x,
                          std::initializer_list<const Tensor*> outs, LinearSaved& saved) {
  if (adapter.lora_a != nullptr) ops_.add_shared_adapter(adapter, x, outs, saved);
}

std::optional<SharedAdapterGradients> LayerRun::begin_shared(const Linear& adapter) const {
  if (adapter.lora_a == nullptr) return std::nullopt;
  return ops_.begin_shared_adapter_backward(adapter);
}

void LayerRun::normalise_heads(const Parameter* weight, Tensor& x, Tensor& raw, Tensor& rstd) {
  if (weight == nullptr) return;
  NormResult normed = ops_.rms_norm(x, weight->value.elements());
  raw = std::exchange(x, std::move(normed.out));
  rstd = std::move(normed.stats);
  if (!attention_runs_back_) raw = rstd = {};
}

void LayerRun::normalise_heads_backward(Parameter* weight, Tensor& raw, Tensor& rstd) {
  if (weight == nullptr) return;
  ops_.rms_norm_backward(raw, *weight);
  raw = rstd = {};
}

void LayerRun::normalise_out(const Norm& norm, bool kept, Tensor& x, Tensor& raw, Tensor& stats) {
  if (norm.weight == nullptr) return;
  NormResult normed = ops_.normalise(x, norm);
  if (kept) {
    raw = std::move(x);
    stats = std::move(normed.stats);
  }
  x = std::move(normed.out);
}

Tensor LayerRun::normalise_out_backward(const Norm& norm, const Tensor& grad, Tensor& raw,
                                        Tensor& stats) {
  if (norm.weight == nullptr) return {};
  Tensor out_grad = ops_.clone(grad);
  ops_.normalise_backward(raw, norm);
  raw = stats = {};
  return out_grad;
}

Tensor LayerRun::attention_half(const Tensor& x) {
  saved_.norm1 = ops_.normalise(x, layer_.input_norm);
  (layer_.has_one_qkv() ? saved_.qkv.all : saved_.qkv.q) = project(Target::q, saved_.norm1.out);
  if (!layer_.has_one_qkv()) {
    saved_.qkv.k = project(Target::k, saved_.norm1.out);
    saved_.qkv.v = project(Target::v, saved_.norm1.out);
    add_shared(layer_.qkv_adapter, saved_.norm1.out, {&saved_.qkv.q, &saved_.qkv.k, &saved_.qkv.v},
               saved_.qkv_adapter);
  }
  if (!attention_runs_back_) saved_.norm1 = {};
  if (keep_.products_only || !layer_.any_trains({Target::q, Target::k, Target::v}))
    saved_.norm1.out = {};
  normalise_heads(layer_.q_norm, saved_.qkv.q, saved_.raw_q, saved_.q_rstd);
  normalise_heads(layer_.k_norm, saved_.qkv.k, saved_.raw_k, saved_.k_rstd);
  if (turns_heads_) {
    ops_.rotary(saved_.qkv.q);
    ops_.rotary(saved_.qkv.k);
  }
  saved_.attention = ops_.attention(saved_.qkv, layer_.window);
  if (!attention_runs_back_) {
    saved_.qkv = {};
    saved_.attention.saved = {};
  }
  Tensor h = project(Target::o, saved_.attention.out);
  if (!attention_runs_back_) {
    saved_.attention = {};
    forget({Target::q, Target::k, Target::v, Target::o});
    saved_.qkv_adapter = {};
  }
  normalise_out(layer_.attention_out_norm, attention_runs_back_, h, saved_.attention_out,
                saved_.attention_out_stats);
  ops_.work(Operation::add, h.elements());  // x, in place.
  return h;
}

Tensor LayerRun::activation() {
  if (!layer_.is_gated()) return ops_.gelu(saved_.up);
  return layer_.gelu_gate ? ops_.geglu(saved_.gate) : ops_.swiglu(saved_.gate);
}

Tensor LayerRun::mlp_half(const Tensor& h) {
  saved_.norm2 = ops_.normalise(h, layer_.mlp_norm);
  if (layer_.is_gated()) saved_.gate = project(Target::gate, saved_.norm2.out);
  saved_.up = project(Target::up, saved_.norm2.out);
  add_shared(layer_.gate_up_adapter, saved_.norm2.out, {&saved_.gate, &saved_.up},
             saved_.gate_up_adapter);
  if (!keep_.anything) saved_.norm2 = {};
  if (keep_.products_only || !layer_.any_trains({Target::gate, Target::up})) saved_.norm2.out = {};
  saved_.act = activation();
  if (!keep_.anything) saved_.gate = saved_.up = {};
  Tensor out = project(Target::down, saved_.act);
  if (!keep_.anything || keep_.products_only || !layer_[Target::down].trains()) saved_.act = {};
  if (!keep_.anything) {
    forget({Target::gate, Target::up, Target::down});
    saved_.gate_up_adapter = {};
  }
  normalise_out(layer_.mlp_out_norm, keep_.anything, out, saved_.mlp_out, saved_.mlp_out_stats);
  ops_.work(Operation::add, out.elements());  // h, in place.
  return out;
}

Tensor LayerRun::activation_backward(Tensor& grad) {
  if (layer_.is_gated() && layer_.gelu_gate) return ops_.geglu_backward(saved_.gate);
  if (layer_.is_gated()) return ops_.swiglu_backward(saved_.gate);
  ops_.gelu_backward(saved_.up);
  return std::move(grad);
}

void LayerRun::mlp_half_backward(const Tensor& grad) {
  Tensor gate_grad;
  Tensor half_grad =
      normalise_out_backward(layer_.mlp_out_norm, grad, saved_.mlp_out, saved_.mlp_out_stats);
  if (keep_.products_only && layer_[Target::down].trains()) saved_.act = activation();
  project_backward(Target::down, grad, saved_.act, &gate_grad);
  half_grad = {};
  saved_.act = {};
  Tensor up_grad = activation_backward(gate_grad);
  saved_.gate = saved_.up = {};
  if (keep_.products_only && layer_.any_trains({Target::gate, Target::up}))
    saved_.norm2.out = ops_.normalise(saved_.h, layer_.mlp_norm).out;
  Tensor norm_grad;
  const bool wanted = attention_runs_back_ || layer_.mlp_norm.weight->trainable;
  auto adapter = begin_shared(layer_.gate_up_adapter);
  if (layer_.is_gated())
    project_backward(Target::gate, gate_grad, saved_.norm2.out, wanted ? &norm_grad : nullptr);
  if (adapter) ops_.add_shared_adapter_backward(layer_.gate_up_adapter, gate_grad, *adapter);
  gate_grad = {};
  project_backward(Target::up, up_grad, saved_.norm2.out, wanted ? &norm_grad : nullptr);
  if (adapter) ops_.add_shared_adapter_backward(layer_.gate_up_adapter, up_grad, *adapter);
  up_grad = {};
  if (adapter)
    ops_.finish_shared_adapter_backward(layer_.gate_up_adapter, saved_.norm2.out,
                                        saved_.gate_up_adapter, wanted);
  adapter.reset();
  saved_.gate_up_adapter = {};
  saved_.norm2.out = {};
  if (!wanted) return;
  ops_.normalise_backward(saved_.h, layer_.mlp_norm);
  if (attention_runs_back_) ops_.work(Operation::add, grad.elements());
  saved_.norm2.stats = {};
  saved_.h = {};
}

void LayerRun::attention_half_backward(const Tensor& grad) {
  Tensor out_grad;
  Tensor half_grad = normalise_out_backward(layer_.attention_out_norm, grad, saved_.attention_out,
                                            saved_.attention_out_stats);
  project_backward(Target::o, grad, saved_.attention.out, &out_grad);
  half_grad = {};
  Qkv grads = ops_.attention_backward(saved_.qkv, layer_.window);
  out_grad = {};
  saved_.qkv = {};
  saved_.attention = {};
  if (turns_heads_) {
    ops_.rotary(grads.q);
    ops_.rotary(grads.k);
  }
  normalise_heads_backward(layer_.q_norm, saved_.raw_q, saved_.q_rstd);
  normalise_heads_backward(layer_.k_norm, saved_.raw_k, saved_.k_rstd);
  if (keep_.products_only && layer_.any_trains({Target::q, Target::k, Target::v}))
    saved_.norm1.out = ops_.normalise(saved_.x, layer_.input_norm).out;
  Tensor norm_grad;
  const bool wanted = keep_.input_gradient || layer_.input_norm.weight->trainable;
  auto adapter = begin_shared(layer_.qkv_adapter);
  for (const auto& [target, tensor] :
       {std::pair{Target::q, layer_.has_one_qkv() ? &grads.all : &grads.q},
        {Target::k, &grads.k},
        {Target::v, &grads.v}}) {
    if (!layer_[target].exists()) continue;
    project_backward(target, *tensor, saved_.norm1.out, wanted ? &norm_grad : nullptr);
    if (adapter) ops_.add_shared_adapter_backward(layer_.qkv_adapter, *tensor, *adapter);
    *tensor = {};
  }
  if (adapter)
    ops_.finish_shared_adapter_backward(layer_.qkv_adapter, saved_.norm1.out, saved_.qkv_adapter,
                                        wanted);
  adapter.reset();
  saved_.qkv_adapter = {};
  saved_.norm1.out = {};
  if (!wanted) return;
  ops_.normalise_backward(saved_.x, layer_.input_norm);
  if (keep_.input_gradient) ops_.work(Operation::add, grad.elements());
}

}  // namespace headroom::estimate::ours
