// SPDX-License-Identifier: Apache-2.0
#include "estimate/headroom_engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "estimate/headroom_ops.h"
#include "estimate/headroom_parameters.h"
#include "estimate/tape.h"

namespace headroom::estimate {
namespace {

using ours::Layer;
using ours::Parameter;

// What forward leaves for backward (trainer/layer.h).
struct LayerSaved {
  Tensor x, h;
  ours::RmsNormResult norm1, norm2;
  Tensor raw_q, raw_k;  // In front of the norm of heads, where there is one.
  Tensor q_rstd, k_rstd;
  ours::Qkv qkv;
  ours::AttentionResult attention;
  Tensor gate, up, act;
  std::array<ours::LinearSaved, ours::projection_count> projections;

  ours::LinearSaved& of(Target target) { return projections[static_cast<std::size_t>(target)]; }
};

struct Keep {
  bool anything = false;
  bool input_gradient = false;
};

class LayerRun {
 public:
  LayerRun(const ours::Ops& ops, const Layer& layer, Keep keep, LayerSaved& saved)
      : ops_(ops),
        layer_(layer),
        keep_(keep),
        saved_(saved),
        attention_runs_back_(keep.anything && (keep.input_gradient || layer.attention_trains())) {}

  Tensor forward(const Tensor& x) {
    if (attention_runs_back_) saved_.x = x;
    Tensor h = attention_half(x);
    Tensor out = mlp_half(h);
    if (keep_.anything) saved_.h = std::move(h);
    return out;
  }

  void backward(const Tensor& grad) {
    mlp_half_backward(grad);
    if (attention_runs_back_) attention_half_backward(grad);
    saved_ = {};
  }

 private:
  Tensor project(Target target, const Tensor& x) {
    return ops_.linear(layer_[target], x, saved_.of(target));
  }

  void project_backward(Target target, const Tensor& grad, const Tensor& x, Tensor* dx) {
    ops_.linear_backward(layer_[target], grad, x, saved_.of(target), dx);
  }

  void forget(std::initializer_list<Target> targets) {
    for (const Target target : targets) saved_.of(target) = {};
  }

  // x becomes its norm by heads; what it was is kept for the backward pass.
  void normalise_heads(const Parameter* weight, Tensor& x, Tensor& raw, Tensor& rstd) {
    if (weight == nullptr) return;
    ours::RmsNormResult normed = ops_.rms_norm(x, weight->value.elements());
    raw = std::exchange(x, std::move(normed.out));
    rstd = std::move(normed.rstd);
    if (!attention_runs_back_) raw = rstd = {};
  }

  void normalise_heads_backward(Parameter* weight, Tensor& raw, Tensor& rstd) {
    if (weight == nullptr) return;
    ops_.rms_norm_backward(raw, *weight);
    raw = rstd = {};
  }

  Tensor attention_half(const Tensor& x) {
    saved_.norm1 = ops_.rms_norm(x);
    saved_.qkv.q = project(Target::q, saved_.norm1.out);
    saved_.qkv.k = project(Target::k, saved_.norm1.out);
    saved_.qkv.v = project(Target::v, saved_.norm1.out);
    if (!attention_runs_back_) saved_.norm1 = {};
    if (!layer_.any_trains({Target::q, Target::k, Target::v})) saved_.norm1.out = {};
    normalise_heads(layer_.q_norm, saved_.qkv.q, saved_.raw_q, saved_.q_rstd);
    normalise_heads(layer_.k_norm, saved_.qkv.k, saved_.raw_k, saved_.k_rstd);
    ops_.rotary(saved_.qkv.q);
    ops_.rotary(saved_.qkv.k);
    saved_.attention = ops_.attention(saved_.qkv, layer_.window);
    if (!attention_runs_back_) {
      saved_.qkv = {};
      saved_.attention.saved = {};
    }
    Tensor h = project(Target::o, saved_.attention.out);
    if (!attention_runs_back_) {
      saved_.attention = {};
      forget({Target::q, Target::k, Target::v, Target::o});
    }
    ops_.work(Operation::add, h.elements());  // x, in place.
    return h;
  }

  Tensor mlp_half(const Tensor& h) {
    saved_.norm2 = ops_.rms_norm(h);
    saved_.gate = project(Target::gate, saved_.norm2.out);
    saved_.up = project(Target::up, saved_.norm2.out);
    if (!keep_.anything) saved_.norm2 = {};
    if (!layer_.any_trains({Target::gate, Target::up})) saved_.norm2.out = {};
    saved_.act = ops_.swiglu(saved_.gate);
    if (!keep_.anything) saved_.gate = saved_.up = {};
    Tensor out = project(Target::down, saved_.act);
    if (!keep_.anything || !layer_[Target::down].trains()) saved_.act = {};
    if (!keep_.anything) forget({Target::gate, Target::up, Target::down});
    ops_.work(Operation::add, out.elements());  // h, in place.
    return out;
  }

  void mlp_half_backward(const Tensor& grad) {
    Tensor gate_grad;
    project_backward(Target::down, grad, saved_.act, &gate_grad);
    saved_.act = {};
    Tensor up_grad = ops_.swiglu_backward(saved_.gate);
    saved_.gate = saved_.up = {};
    Tensor norm_grad;
    const bool wanted = attention_runs_back_ || layer_.post_attention_norm->trainable;
    project_backward(Target::gate, gate_grad, saved_.norm2.out, wanted ? &norm_grad : nullptr);
    gate_grad = {};
    project_backward(Target::up, up_grad, saved_.norm2.out, wanted ? &norm_grad : nullptr);
    up_grad = {};
    saved_.norm2.out = {};
    if (!wanted) return;
    ops_.rms_norm_backward(saved_.h, *layer_.post_attention_norm);
    if (attention_runs_back_) ops_.work(Operation::add, grad.elements());
    saved_.norm2.rstd = {};
    saved_.h = {};
  }

  void attention_half_backward(const Tensor& grad) {
    Tensor out_grad;
    project_backward(Target::o, grad, saved_.attention.out, &out_grad);
    ours::Qkv grads = ops_.attention_backward(saved_.qkv, layer_.window);
    out_grad = {};
    saved_.qkv = {};
    saved_.attention = {};
    ops_.rotary(grads.q);
    ops_.rotary(grads.k);
    normalise_heads_backward(layer_.q_norm, saved_.raw_q, saved_.q_rstd);
    normalise_heads_backward(layer_.k_norm, saved_.raw_k, saved_.k_rstd);
    Tensor norm_grad;
    const bool wanted = keep_.input_gradient || layer_.input_norm->trainable;
    for (const auto& [target, tensor] :
         {std::pair{Target::q, &grads.q}, {Target::k, &grads.k}, {Target::v, &grads.v}}) {
      project_backward(target, *tensor, saved_.norm1.out, wanted ? &norm_grad : nullptr);
      *tensor = {};
    }
    saved_.norm1.out = {};
    if (!wanted) return;
    ops_.rms_norm_backward(saved_.x, *layer_.input_norm);
    if (keep_.input_gradient) ops_.work(Operation::add, grad.elements());
  }

  const ours::Ops& ops_;
  const Layer& layer_;
  Keep keep_;
  LayerSaved& saved_;
  bool attention_runs_back_;
};

class HeadroomStep {
 public:
  HeadroomStep(Tape& tape, const Job& job, const ModelConfig& model, Work* work = nullptr)
      : tape_(tape), job_(job), parameters_(tape, job, model), ops_(tape, job, model, work) {
    const Meta table{{job.batch.sequence, model.head_dim / 2}, element_of(job.compute.dtype)};
    cos_ = tape.empty("rotary.cos", table, Component::other);
    sin_ = tape.empty("rotary.sin", table, Component::other);
    bool below = parameters_.embedding->trainable;
    for (const Layer& layer : parameters_.layers) {
      const bool trains = layer.attention_trains() || layer.mlp_trains();
      keeps_.push_back({below || trains, below});
      below = below || trains;
    }
  }

  // trainer/step.cpp, train_micro_batch.
  void run_micro_batch() {
    const std::uint64_t rows = *job_.batch.micro * job_.batch.sequence;
    const Tensor ids = tape_.empty("ids", {{rows}, Element::int64}, Component::other);
    const Tensor targets = tape_.empty("targets", {{rows}, Element::int64}, Component::other);
    tape_.set_phase(Phase::forward);
    std::vector<LayerSaved> saved(keeps_.size());
    Tensor grad = head_and_loss(forward(saved, rows));
    tape_.set_phase(Phase::backward);
    for (std::size_t i = keeps_.size(); i-- > 0 && keeps_[i].anything;) {
      const Scope scope(tape_, "layers", i);
      LayerRun run(ops_, parameters_.layers[i], keeps_[i], saved[i]);
      if (checkpointed()) const Tensor again = run.forward(Tensor(saved[i].x));
      run.backward(grad);
    }
    Parameter& embedding = *parameters_.embedding;
    if (!embedding.trainable) return;
    if (!embedding.grad.defined()) {
      embedding.grad = tape_.empty("embedding.grad", embedding.value, Component::gradients);
    }
    ops_.work(Operation::embed_backward, grad.elements());
  }

  // trainer/step.cpp, evaluate_micro_batch.
  void run_evaluation() {
    std::fill(keeps_.begin(), keeps_.end(), Keep{});
    std::vector<LayerSaved> saved(keeps_.size());
    const Tensor hidden = forward(saved, *job_.batch.micro * job_.batch.sequence);
    ops_.evaluate_loss(ops_.rms_norm(hidden).out, *parameters_.head);
  }

  // trainer/gradient_norm.cpp, then trainer/optimizer.cpp: all states at the first step; otherwise
  // what one parameter needs after the other's.
  void run_optimizer() {
    tape_.set_phase(Phase::optimizer);
    for (const Parameter& parameter : parameters_.trainable()) {
      ops_.work(Operation::gradient_norm, parameter.value);
      ops_.work(step_operation(), parameter.value);
      measure_gradient(parameter.value);
    }
    for (Parameter& parameter : parameters_.trainable()) {
      if (!first_step_) break;
      make_states(parameter.value);
    }
    for (Parameter& parameter : parameters_.trainable()) {
      step_parameter(parameter.value);
      parameter.grad = {};
    }
    first_step_ = false;
  }

 private:
  void make_state(Name name, const Meta& meta) {
    states_.push_back(tape_.empty(name, meta, Component::optimizer));
  }

  // trainer/adamw.cpp, sgd.cpp and adafactor.cpp, add_state.
  void make_states(const Meta& value) {
    switch (job_.optimizer.kind) {
      case OptimizerKind::adamw:
      case OptimizerKind::adamw8bit:  // Refused (engine_support.h).
        make_state("optimizer.mean", value);
        return make_state("optimizer.variance", value);
      case OptimizerKind::sgd:
        if (job_.optimizer.momentum > 0) make_state("optimizer.momentum", value);
        return;
      case OptimizerKind::adafactor:
        if (value.shape.size() > 1)
          make_state("optimizer.row_variance", {{value.shape[0]}, Element::fp32});
        return make_state("optimizer.column_variance", {{value.shape.back()}, Element::fp32});
    }
  }

  Operation step_operation() const {
    switch (job_.optimizer.kind) {
      case OptimizerKind::adamw:
        return Operation::adamw;
      case OptimizerKind::adamw8bit:
        return Operation::adamw8bit;
      case OptimizerKind::sgd:
        return job_.optimizer.momentum > 0 ? Operation::sgd_momentum : Operation::sgd;
      case OptimizerKind::adafactor:
        break;
    }
    return Operation::adafactor;
  }

  // The same files, update.
  void step_parameter(const Meta& value) {
    const bool factored = job_.optimizer.kind == OptimizerKind::adafactor;
    const std::uint64_t columns = value.shape.back();
    const std::uint64_t rows = value.elements() / columns;
    std::uint64_t numbers = std::min(block_elements, value.elements());
    if (factored)
      numbers = columns * std::min(rows, std::max<std::uint64_t>(1, block_elements / columns));
    const bool momentum = job_.optimizer.kind == OptimizerKind::sgd && job_.optimizer.momentum > 0;
    std::vector<Tensor> held;
    if (value.element != Element::fp32) {
      for (int i = 0; i < (momentum ? 3 : 2); ++i)
        held.push_back(
            tape_.empty("optimizer.block", {{numbers}, Element::fp32}, Component::workspace));
    }
    if (!factored) return;
    // Of the element sizes, int64's is fp64's.
    held.push_back(
        tape_.empty("optimizer.sums", {{rows + columns}, Element::int64}, Component::workspace));
    held.push_back(
        tape_.empty("optimizer.weights", {{columns}, Element::fp32}, Component::workspace));
  }

  // The first block is as large as any.
  void measure_gradient(const Meta& gradient) {
    if (gradient.element == Element::fp32) return;
    const Tensor block = tape_.empty(
        "gradient.block", {{std::min(block_elements, gradient.elements())}, Element::fp32},
        Component::workspace);
  }

  bool checkpointed() const { return job_.compute.checkpointing == Checkpointing::layer; }

  Tensor forward(std::vector<LayerSaved>& saved, std::uint64_t rows) {
    const Tensor& table = parameters_.embedding->value;
    Tensor hidden = tape_.empty("embedded", {{rows, table.shape[1]}, table.element});
    ops_.work(Operation::embed, hidden.elements());
    for (std::size_t i = 0; i < keeps_.size(); ++i) {
      const Scope scope(tape_, "layers", i);
      const Keep keep = checkpointed() ? Keep{} : keeps_[i];
      Tensor out = LayerRun(ops_, parameters_.layers[i], keep, saved[i]).forward(hidden);
      if (checkpointed() && keeps_[i].anything) saved[i].x = hidden;
      hidden = std::move(out);
    }
    return hidden;
  }

  Tensor head_and_loss(const Tensor& hidden) {
    const Scope scope(tape_, "head");
    ours::RmsNormResult normed = ops_.rms_norm(hidden);
    Tensor grad = ops_.loss(normed.out, *parameters_.head);
    normed.out = {};
    ops_.rms_norm_backward(hidden, *parameters_.final_norm);
    return grad;
  }

  Tape& tape_;
  const Job& job_;
  ours::Parameters parameters_;
  ours::Ops ops_;
  Tensor cos_, sin_;
  std::vector<Keep> keeps_;
  std::vector<Tensor> states_;
  bool first_step_ = true;
};

}  // namespace

Recording record_headroom(const Job& job, const ModelConfig& model, std::uint64_t steps) {
  Recorder recorder;
  {
    Tape tape(recorder);
    HeadroomStep step(tape, job, model);
    for (std::uint64_t i = 0; i < steps; ++i) {
      // From the second micro-batch on, the gradients are there from the start: more change
      // nothing.
      for (std::uint64_t j = 0; j < std::min<std::uint64_t>(job.batch.accumulate.value_or(1), 2);
           ++j) {
        step.run_micro_batch();
      }
      step.run_optimizer();
    }
  }
  return recorder.take();
}

Work work_of_micro_batch(const Job& job, const ModelConfig& model) {
  Work work;
  Recorder recorder;
  Tape tape(recorder);
  HeadroomStep(tape, job, model, &work).run_micro_batch();
  return work;
}

Work work_of_evaluation(const Job& job, const ModelConfig& model) {
  Work work;
  Recorder recorder;
  Tape tape(recorder);
  HeadroomStep(tape, job, model, &work).run_evaluation();
  return work;
}

Work work_of_optimizer(const Job& job, const ModelConfig& model) {
  Work work;
  Recorder recorder;
  Tape tape(recorder);
  HeadroomStep(tape, job, model, &work).run_optimizer();
  return work;
}

}  // namespace headroom::estimate
