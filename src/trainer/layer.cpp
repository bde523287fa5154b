// SPDX-License-Identifier: Apache-2.0
#include "trainer/layer.h"

#include <ATen/ATen.h>

#include <utility>

#include "trainer/ops/geglu.h"
#include "trainer/ops/gelu.h"
#include "trainer/ops/shared_adapter.h"
#include "trainer/ops/swiglu.h"
#include "trainer/torch_memory.h"

namespace headroom::trainer {
namespace {

using allocator::Component;
using estimate::Attention;
using estimate::Target;

std::size_t index(Target target) {
  return static_cast<std::size_t>(target);
}

std::optional<std::uint64_t> seed_of(Target target, const Pass& pass) {
  if (!pass.dropout_seed) return std::nullopt;
  return *pass.dropout_seed * projection_count + index(target);
}

// One projection in the forward pass. Its saved part stays only where a gradient will ask for it.
at::Tensor project(const Layer& layer, Target target, const at::Tensor& x, const Pass& pass,
                   LayerSaved& saved) {
  return ops::linear(layer[target], x, saved.projections[index(target)], seed_of(target, pass));
}

// The reverse of project(): adds to `dx`, if given, and forgets the saved part.
void project_backward(const Layer& layer, Target target, LayerSaved& saved, const at::Tensor& grad,
                      std::array<at::Tensor*, 2> x_and_dx) {
  ops::linear_backward(layer[target], grad, *x_and_dx[0], saved.projections[index(target)],
                       x_and_dx[1]);
  saved.projections[index(target)] = {};
}

void forget(LayerSaved& saved, std::initializer_list<Target> targets) {
  for (const Target target : targets) saved.projections[index(target)] = {};
}

bool any_trains(const Layer& layer, std::initializer_list<Target> targets) {
  for (const Target target : targets) {
    if (layer[target].trains()) return true;
  }
  return false;
}

bool qkv_trains(const Layer& layer) {
  return any_trains(layer, {Target::q, Target::k, Target::v});
}

bool gate_or_up_trains(const Layer& layer) {
  return any_trains(layer, {Target::gate, Target::up});
}

ops::Qkv project_qkv(const Layer& layer, const at::Tensor& x, const Pass& pass, LayerSaved& saved) {
  at::Tensor q = project(layer, Target::q, x, pass, saved);
  if (layer.has_one_qkv()) return ops::share_columns(std::move(q), pass.shape);
  at::Tensor k = project(layer, Target::k, x, pass, saved);
  at::Tensor v = project(layer, Target::v, x, pass, saved);
  if (layer.qkv_adapter)
    ops::add_shared_adapter(*layer.qkv_adapter, x, {&q, &k, &v}, saved.qkv_adapter,
                            seed_of(Target::q, pass));
  return {std::move(q), std::move(k), std::move(v)};
}

// Uses up `grads`; adds to `dx`, if it is not null.
void project_qkv_backward(const Layer& layer, LayerSaved& saved, ops::Qkv& grads, at::Tensor* dx) {
  if (layer.has_one_qkv()) {
    project_backward(layer, Target::q, saved, grads.all, {&saved.norm1.out, dx});
    grads = {};
    return;
  }
  std::optional<ops::SharedAdapterBackward> adapter;
  if (layer.qkv_adapter)
    adapter.emplace(*layer.qkv_adapter, saved.qkv_adapter, grads.q.scalar_type());
  for (const auto& [target, grad] :
       {std::pair{Target::q, &grads.q}, {Target::k, &grads.k}, {Target::v, &grads.v}}) {
    project_backward(layer, target, saved, *grad, {&saved.norm1.out, dx});
    if (adapter) adapter->add(*grad);
    grad->reset();
  }
  if (adapter) adapter->finish(saved.norm1.out, dx);
  adapter.reset();
  saved.qkv_adapter = {};
}

ops::AttentionResult attend(const ops::Qkv& qkv, const Pass& pass) {
  return pass.attention == Attention::math ? ops::attention_math(qkv, pass.shape)
                                           : ops::attention_efficient(qkv, pass.shape);
}

ops::Qkv attend_backward(const at::Tensor& grad, const LayerSaved& saved, const Pass& pass) {
  return pass.attention == Attention::math
             ? ops::attention_math_backward(grad, saved.qkv, saved.attention, pass.shape)
             : ops::attention_efficient_backward(grad, saved.qkv, saved.attention, pass.shape);
}

// Normalises each head of `x` by itself, where the model does that.
void normalise_heads(at::Tensor& x, const Parameter* weight, const Pass& pass, bool kept,
                     HeadNormSaved& saved) {
  if (weight == nullptr) return;
  at::Tensor heads = x.view({-1, pass.shape.head_dim});
  ops::NormResult normed = ops::rms_norm(heads, weight->value, pass.norm_eps);
  x = normed.out.view(x.sizes());
  if (kept) saved = {std::move(heads), std::move(normed.stats)};
}

// `grad` holds d loss / d normalised on entry and d loss / d x on return.
void normalise_heads_backward(at::Tensor& grad, Parameter* weight, HeadNormSaved& saved) {
  if (weight == nullptr) return;
  at::Tensor heads = grad.view(saved.x.sizes());
  ops::rms_norm_backward_(heads, saved.x, saved.rstd, *weight);
  saved = {};
}

// Normalises what a half of the layer gives, where the model does that.
void normalise_out(at::Tensor& x, const ops::Norm& norm, const Pass& pass, bool kept,
                   OutNormSaved& saved) {
  if (!norm.exists()) return;
  ops::NormResult normed = ops::normalise(x, norm, pass.norm_eps);
  if (kept) saved = {std::move(x), std::move(normed.stats)};
  x = std::move(normed.out);
}

// d loss / d what the norm was given: `grad` itself where there is none.
at::Tensor normalise_out_backward(const at::Tensor& grad, const ops::Norm& norm,
                                  OutNormSaved& saved) {
  if (!norm.exists()) return grad;
  at::Tensor out_grad = grad.clone();
  ops::normalise_backward_(out_grad, saved.x, saved.stats, norm);
  saved = {};
  return out_grad;
}

// Whether the half's backward runs at all.
bool attention_backward_runs(const Layer& layer, Keep keep) {
  return keep.anything && (keep.input_gradient || layer.attention_trains());
}

at::Tensor attention_half(const Layer& layer, const at::Tensor& x, const Pass& pass, Keep keep,
                          LayerSaved& saved) {
  const bool kept = attention_backward_runs(layer, keep);
  saved.norm1 = ops::normalise(x, layer.input_norm, pass.norm_eps);
  saved.qkv = project_qkv(layer, saved.norm1.out, pass, saved);
  if (!kept) saved.norm1.stats.reset();
  if (!kept || keep.products_only || !qkv_trains(layer)) saved.norm1.out.reset();

  normalise_heads(saved.qkv.q, layer.q_norm, pass, kept, saved.q_norm);
  normalise_heads(saved.qkv.k, layer.k_norm, pass, kept, saved.k_norm);
  if (pass.rotary.cos.defined()) {
    const ops::Segments samples = pass.shape.segments();
    ops::rotary_(saved.qkv.q, pass.rotary, samples);
    ops::rotary_(saved.qkv.k, pass.rotary, samples);
  }
  saved.attention = attend(saved.qkv, pass);
  if (!kept) {
    saved.qkv = {};
    saved.attention.saved.reset();
  }
  at::Tensor h = project(layer, Target::o, saved.attention.out, pass, saved);
  if (!kept) {
    saved.attention.out.reset();
    forget(saved, {Target::q, Target::k, Target::v, Target::o});
    saved.qkv_adapter = {};
  }
  normalise_out(h, layer.attention_out_norm, pass, kept, saved.attention_out);
  return h.add_(x);
}

at::Tensor activation(const Layer& layer, const LayerSaved& saved) {
  if (!layer.is_gated()) return ops::gelu(saved.up);
  return layer.gelu_gate ? ops::geglu(saved.gate, saved.up) : ops::swiglu(saved.gate, saved.up);
}

at::Tensor mlp_half(const Layer& layer, const at::Tensor& h, const Pass& pass, Keep keep,
                    LayerSaved& saved) {
  saved.norm2 = ops::normalise(h, layer.mlp_norm, pass.norm_eps);
  if (layer.is_gated()) saved.gate = project(layer, Target::gate, saved.norm2.out, pass, saved);
  saved.up = project(layer, Target::up, saved.norm2.out, pass, saved);
  if (layer.gate_up_adapter)
    ops::add_shared_adapter(*layer.gate_up_adapter, saved.norm2.out, {&saved.gate, &saved.up},
                            saved.gate_up_adapter, seed_of(Target::gate, pass));
  if (!keep.anything) saved.norm2.stats.reset();
  if (!keep.anything || keep.products_only || !gate_or_up_trains(layer)) saved.norm2.out.reset();

  saved.act = activation(layer, saved);
  if (!keep.anything) {
    saved.gate.reset();
    saved.up.reset();
  }
  at::Tensor out = project(layer, Target::down, saved.act, pass, saved);
  if (!keep.anything || keep.products_only || !layer[Target::down].trains()) saved.act.reset();
  if (!keep.anything) {
    forget(saved, {Target::gate, Target::up, Target::down});
    saved.gate_up_adapter = {};
  }
  normalise_out(out, layer.mlp_out_norm, pass, keep.anything, saved.mlp_out);
  return out.add_(h);
}

// Of what the down projection is given, `grad`: returns d up. `grad` becomes d gate, or is taken.
at::Tensor activation_backward(const Layer& layer, const LayerSaved& saved, at::Tensor& grad) {
  if (layer.is_gated() && layer.gelu_gate) return ops::geglu_backward_(grad, saved.gate, saved.up);
  if (layer.is_gated()) return ops::swiglu_backward_(grad, saved.gate, saved.up);
  ops::gelu_backward_(grad, saved.up);
  return std::exchange(grad, {});
}

// Makes again what was not kept (Keep::products_only), by the operations of the forward pass.
void make_norm_again(const at::Tensor& x, const ops::Norm& norm, const Pass& pass,
                     ops::NormResult& saved) {
  const TagScope scope(Component::activations);
  saved.out = ops::normalise(x, norm, pass.norm_eps).out;
}

void make_activation_again(const Layer& layer, LayerSaved& saved) {
  const TagScope scope(Component::activations);
  saved.act = activation(layer, saved);
}

void mlp_half_backward(const Layer& layer, const Pass& pass, Keep keep, LayerSaved& saved,
                       at::Tensor& grad) {
  const bool through = attention_backward_runs(layer, keep);  // Something asks for d h.
  at::Tensor gate_grad;  // d act, until activation_backward() turns it into d gate, or takes it.
  at::Tensor half_grad = normalise_out_backward(grad, layer.mlp_out_norm, saved.mlp_out);
  if (keep.products_only && layer[Target::down].trains()) make_activation_again(layer, saved);
  project_backward(layer, Target::down, saved, half_grad, {&saved.act, &gate_grad});
  half_grad.reset();
  saved.act.reset();
  at::Tensor up_grad = activation_backward(layer, saved, gate_grad);
  saved.gate.reset();
  saved.up.reset();

  if (keep.products_only && gate_or_up_trains(layer))
    make_norm_again(saved.h, layer.mlp_norm, pass, saved.norm2);
  at::Tensor norm_grad;
  at::Tensor* target = through || layer.mlp_norm.trains() ? &norm_grad : nullptr;
  std::optional<ops::SharedAdapterBackward> adapter;
  if (layer.gate_up_adapter)
    adapter.emplace(*layer.gate_up_adapter, saved.gate_up_adapter, up_grad.scalar_type());
  if (layer.is_gated()) {
    project_backward(layer, Target::gate, saved, gate_grad, {&saved.norm2.out, target});
    if (adapter) adapter->add(gate_grad);
    gate_grad.reset();
  }
  project_backward(layer, Target::up, saved, up_grad, {&saved.norm2.out, target});
  if (adapter) adapter->add(up_grad);
  up_grad.reset();
  if (adapter) adapter->finish(saved.norm2.out, target);
  adapter.reset();
  saved.gate_up_adapter = {};
  saved.norm2.out.reset();
  if (target == nullptr) return;
  ops::normalise_backward_(norm_grad, saved.h, saved.norm2.stats, layer.mlp_norm);
  saved.norm2.stats.reset();
  saved.h.reset();
  if (through) grad.add_(norm_grad);
}

void attention_half_backward(const Layer& layer, const Pass& pass, Keep keep, LayerSaved& saved,
                             at::Tensor& grad) {
  at::Tensor out_grad;
  at::Tensor half_grad =
      normalise_out_backward(grad, layer.attention_out_norm, saved.attention_out);
  project_backward(layer, Target::o, saved, half_grad, {&saved.attention.out, &out_grad});
  half_grad.reset();
  ops::Qkv grads = attend_backward(out_grad, saved, pass);
  out_grad.reset();
  saved.qkv = {};
  saved.attention = {};
  if (pass.rotary.cos.defined()) {
    const ops::Segments samples = pass.shape.segments();
    ops::rotary_backward_(grads.q, pass.rotary, samples);
    ops::rotary_backward_(grads.k, pass.rotary, samples);
  }
  normalise_heads_backward(grads.q, layer.q_norm, saved.q_norm);
  normalise_heads_backward(grads.k, layer.k_norm, saved.k_norm);

  if (keep.products_only && qkv_trains(layer))
    make_norm_again(saved.x, layer.input_norm, pass, saved.norm1);
  at::Tensor norm_grad;
  at::Tensor* target = keep.input_gradient || layer.input_norm.trains() ? &norm_grad : nullptr;
  project_qkv_backward(layer, saved, grads, target);
  saved.norm1.out.reset();
  if (target == nullptr) return;
  ops::normalise_backward_(norm_grad, saved.x, saved.norm1.stats, layer.input_norm);
  if (keep.input_gradient) grad.add_(norm_grad);
}

}  // namespace

bool Layer::attention_trains() const {
  // The norms of heads train where every norm does.
  return input_norm.trains() || any_trains(*this, {Target::q, Target::k, Target::v, Target::o});
}

bool Layer::mlp_trains() const {
  return mlp_norm.trains() || any_trains(*this, {Target::gate, Target::up, Target::down});
}

at::Tensor forward(const Layer& layer, const at::Tensor& x, const Pass& pass, Keep keep,
                   LayerSaved& saved) {
  const TagScope scope(Component::activations);
  if (attention_backward_runs(layer, keep)) saved.x = x;
  at::Tensor h = attention_half(layer, x, pass, keep, saved);
  at::Tensor out = mlp_half(layer, h, pass, keep, saved);
  if (keep.anything) saved.h = std::move(h);
  return out;
}

void backward(const Layer& layer, const Pass& pass, Keep keep, LayerSaved& saved,
              at::Tensor& grad) {
  const TagScope scope(Component::workspace);
  mlp_half_backward(layer, pass, keep, saved, grad);
  if (attention_backward_runs(layer, keep)) attention_half_backward(layer, pass, keep, saved, grad);
  saved = {};
}

}  // namespace headroom::trainer
