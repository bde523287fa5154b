// SPDX-License-Identifier: Apache-2.0
#include "estimate/headroom_engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <utility>
#include <vector>

#include "estimate/headroom_layer.h"
#include "estimate/headroom_ops.h"
#include "estimate/headroom_parameters.h"
#include "estimate/tape.h"

namespace headroom::estimate {
namespace {

using ours::Keep;
using ours::Layer;
using ours::LayerRun;
using ours::LayerSaved;
using ours::Parameter;

// trainer/adamw8bit.h and quantised/moments.h.
constexpr std::uint64_t least_quantised = 4096;
constexpr std::uint64_t moment_block = 256;

class HeadroomStep {
 public:
  HeadroomStep(Tape& tape, const Job& job, const ModelConfig& model, const StagePart& part,
               Work* work = nullptr)
      : tape_(tape),
        job_(job),
        part_(part),
        width_(model.hidden),
        parameters_(tape, job, model, part),
        ops_(tape, job, model, work),
        turns_heads_(!model.is_gpt2()),
        scales_embedding_(model.gemma) {
    const Meta table{{job.batch.sequence, model.head_dim / 2}, element_of(job.compute.dtype)};
    if (turns_heads_) {
      cos_ = tape.empty("rotary.cos", table, Component::other);
      sin_ = tape.empty("rotary.sin", table, Component::other);
    }
    // Of a split model every stage has something that trains.
    bool below = !part.is_first() || parameters_.embedding->trainable;
    for (const Layer& layer : parameters_.layers) {
      const bool trains = layer.attention_trains() || layer.mlp_trains();
      keeps_.push_back(
          {below || trains, below, job_.compute.checkpointing == Checkpointing::selective});
      below = below || trains;
    }
  }

  // trainer/ranks/pipeline.cpp; of a model that is not split, trainer/step.cpp, train_micro_batch.
  void run_micro_batches(std::uint64_t count) {
    std::deque<MicroBatch> in_flight;
    for (const auto& [pass, number] : one_forward_one_backward(part_.stage, part_.stages, count)) {
      if (pass == StagePass::forward) {
        pass_forward(in_flight.emplace_back());
      } else {
        pass_backward(in_flight.front());
        in_flight.pop_front();
      }
    }
  }

  void run_micro_batch() { run_micro_batches(1); }

  // trainer/step.cpp, evaluate_micro_batch.
  void run_evaluation() {
    std::fill(keeps_.begin(), keeps_.end(), Keep{});
    std::vector<LayerSaved> saved(keeps_.size());
    const Tensor hidden = forward(saved, *job_.batch.micro * job_.batch.sequence);
    ops_.evaluate_loss(ops_.normalise(hidden, parameters_.final_norm).out, *parameters_.head);
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
      for (const State& state : states_of(parameter.value)) {
        if (job_.optimizer.offload) {
          host_.take(state.meta.bytes(), Component::optimizer);
        } else {
          states_.push_back(tape_.empty(state.name, state.meta, Component::optimizer));
        }
      }
    }
    for (Parameter& parameter : parameters_.trainable()) {
      step_parameter(parameter.value);
      parameter.grad = {};
    }
    first_step_ = false;
  }

  const HostPeak& host_peak() const { return host_.peak(); }

 private:
  // trainer/step.h, StageRun.
  struct MicroBatch {
    Tensor ids, targets;
    std::vector<LayerSaved> saved;
    std::vector<std::vector<Tensor*>> offloaded;  // Of each layer, what waits in host memory.
    Tensor grad;                                  // Of what the head was given.
  };

  void pass_forward(MicroBatch& batch) {
    const std::uint64_t rows = *job_.batch.micro * job_.batch.sequence;
    batch.ids = tape_.empty("ids", {{rows}, Element::int64}, Component::other);
    batch.targets = tape_.empty("targets", {{rows}, Element::int64}, Component::other);
    tape_.set_phase(Phase::forward);
    batch.saved.resize(keeps_.size());
    batch.offloaded.resize(keeps_.size());
    const Tensor hidden = forward(batch.saved, rows, &batch.offloaded);
    if (part_.is_last()) batch.grad = head_and_loss(hidden);
  }

  void pass_backward(MicroBatch& batch) {
    tape_.set_phase(Phase::backward);
    if (!part_.is_last()) batch.grad = received("received.grad", batch.ids.elements());
    Tensor& grad = batch.grad;
    for (std::size_t i = keeps_.size(); i-- > 0 && keeps_[i].anything;) {
      const Scope scope(tape_, "layers", part_.first_layer + i);
      to_device(batch.offloaded[i]);
      LayerRun run(ops_, parameters_.layers[i], keeps_[i], batch.saved[i], turns_heads_);
      if (checkpointed()) const Tensor again = run.forward(Tensor(batch.saved[i].x));
      run.backward(grad);
    }
    for (Parameter* table : {parameters_.embedding, parameters_.positions}) {
      if (table == nullptr || !table->trainable) continue;
      if (scales_embedding_) ops_.work(Operation::add, grad.elements());  // In place.
      if (!table->grad.defined())
        table->grad = tape_.empty("embedding.grad", table->value, Component::gradients);
      ops_.work(table == parameters_.embedding ? Operation::embed_backward : Operation::add,
                grad.elements());
    }
  }

  // trainer/offloaded_layer.cpp, where the job wants it.
  void to_host(LayerSaved& saved, std::vector<Tensor*>& offloaded) {
    if (!job_.compute.activation_offloading) return;
    for (Tensor* tensor : saved.tensors()) {
      if (!tensor->defined()) continue;
      host_.take(tensor->bytes(), Component::activations);
      tensor->storage = {};
      offloaded.push_back(tensor);
    }
  }

  void to_device(std::vector<Tensor*>& offloaded) {
    for (Tensor* tensor : offloaded) {
      *tensor = tape_.empty("kept", *tensor, Component::activations);
      host_.give_back(tensor->bytes(), Component::activations);
    }
    offloaded.clear();
  }

  // From the stage before, or the one behind.
  Tensor received(Name name, std::uint64_t rows) {
    return tape_.empty(name, {{rows, width_}, element_of(job_.compute.dtype)});
  }

  struct State {
    Name name;
    Meta meta;
    std::uint64_t numbers_each = 1;
  };

  bool has_master(const Meta& value) const {
    return job_.optimizer.master == Master::fp32 && value.element != Element::fp32;
  }

  // trainer/optimizer.cpp, allocate_states.
  std::vector<State> states_of(const Meta& value) const {
    if (!has_master(value)) return own_states_of(value);
    const Meta wide{value.shape, Element::fp32};
    std::vector<State> states = own_states_of(wide);
    states.insert(states.begin(), {"optimizer.master", wide});
    return states;
  }

  // trainer/adamw.cpp, adamw8bit.cpp, sgd.cpp and adafactor.cpp, shape_states.
  std::vector<State> own_states_of(const Meta& value) const {
    const Meta wide{value.shape, Element::fp32};
    switch (job_.optimizer.kind) {
      case OptimizerKind::adamw:
        return {{"optimizer.mean", value}, {"optimizer.variance", value}};
      case OptimizerKind::adamw8bit: {
        if (value.elements() < least_quantised)
          return {{"optimizer.mean", wide}, {"optimizer.variance", wide}};
        const Meta bytes{value.shape, Element::uint8};
        const Meta scales{{(value.elements() + moment_block - 1) / moment_block}, Element::fp32};
        return {{"optimizer.mean", bytes},
                {"optimizer.mean_scale", scales, moment_block},
                {"optimizer.variance", bytes},
                {"optimizer.variance_scale", scales, moment_block}};
      }
      case OptimizerKind::sgd:
        if (job_.optimizer.momentum > 0) return {{"optimizer.momentum", value}};
        return {};
      case OptimizerKind::adafactor:
        break;
    }
    const State columns{"optimizer.column_variance", {{value.shape.back()}, Element::fp32}};
    if (value.shape.size() == 1) return {columns};
    return {{"optimizer.row_variance", {{value.shape[0]}, Element::fp32}}, columns};
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

  // trainer/optimizer.cpp, update_staged: `whole` states, or a slice of each.
  std::vector<Tensor> stage(const Meta& value, bool whole) {
    std::vector<Tensor> staged;
    const std::uint64_t most = std::min(block_elements, value.elements());
    for (auto [name, meta, each] : states_of(value)) {
      if (!job_.optimizer.offload) break;
      if (!whole) meta.shape = {(most + each - 1) / each};
      staged.push_back(tape_.empty("optimizer.staged", meta, Component::workspace));
    }
    if (has_master(value) && !whole)
      staged.push_back(
          tape_.empty("optimizer.gradient", {{most}, Element::fp32}, Component::workspace));
    return staged;
  }

  // Fp32 blocks that an update computes in; of AdamW's bytes a thread's stack has them.
  int count_blocks(const Meta& value) const {
    const bool factored = job_.optimizer.kind == OptimizerKind::adafactor;
    if (value.element == Element::fp32) return 0;
    if (has_master(value)) return factored ? 1 : 0;  // Of the gradient.
    if (job_.optimizer.kind == OptimizerKind::adamw8bit && value.elements() >= least_quantised)
      return 0;
    return job_.optimizer.kind == OptimizerKind::sgd && job_.optimizer.momentum > 0 ? 3 : 2;
  }

  // The same files, update.
  void step_parameter(const Meta& value) {
    const bool factored = job_.optimizer.kind == OptimizerKind::adafactor;
    const std::uint64_t columns = value.shape.back();
    const std::uint64_t rows = value.elements() / columns;
    std::uint64_t numbers = std::min(block_elements, value.elements());
    if (factored)
      numbers = columns * std::min(rows, std::max<std::uint64_t>(1, block_elements / columns));
    std::vector<Tensor> held = stage(value, factored);
    for (int i = 0; i < count_blocks(value); ++i)
      held.push_back(
          tape_.empty("optimizer.block", {{numbers}, Element::fp32}, Component::workspace));
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

  Tensor embed(std::uint64_t rows) {
    const Tensor& table = parameters_.embedding->value;
    Tensor hidden = tape_.empty("embedded", {{rows, table.shape[1]}, table.element});
    ops_.work(Operation::embed, hidden.elements());
    if (parameters_.positions != nullptr || scales_embedding_)
      ops_.work(Operation::add, hidden.elements());
    return hidden;
  }

  // `offloaded`: null where nothing is kept.
  Tensor forward(std::vector<LayerSaved>& saved, std::uint64_t rows,
                 std::vector<std::vector<Tensor*>>* offloaded = nullptr) {
    Tensor hidden = part_.is_first() ? embed(rows) : received("received", rows);
    for (std::size_t i = 0; i < keeps_.size(); ++i) {
      const Scope scope(tape_, "layers", part_.first_layer + i);
      const Keep keep = checkpointed() ? Keep{} : keeps_[i];
      Tensor out =
          LayerRun(ops_, parameters_.layers[i], keep, saved[i], turns_heads_).forward(hidden);
      if (checkpointed() && keeps_[i].anything) saved[i].x = hidden;
      hidden = std::move(out);
      if (offloaded != nullptr) to_host(saved[i], (*offloaded)[i]);
    }
    return hidden;
  }

  Tensor head_and_loss(const Tensor& hidden) {
    const Scope scope(tape_, "head");
    ours::NormResult normed = ops_.normalise(hidden, parameters_.final_norm);
    Tensor grad = ops_.loss(normed.out, *parameters_.head);
    normed.out = {};
    ops_.normalise_backward(hidden, parameters_.final_norm);
    return grad;
  }

  Tape& tape_;
  const Job& job_;
  StagePart part_;
  std::uint64_t width_;
  ours::Parameters parameters_;
  ours::Ops ops_;
  bool turns_heads_;
  bool scales_embedding_;
  Tensor cos_, sin_;
  std::vector<Keep> keeps_;
  std::vector<Tensor> states_;
  HostTally host_;  // What is offloaded.
  bool first_step_ = true;
};

// What a part of a step does, on a tape that nobody reads.
Work work_of(void (HeadroomStep::*part)(), const Job& job, const ModelConfig& model) {
  Work work;
  Recorder recorder;
  Tape tape(recorder);
  HeadroomStep step(tape, job, model, whole_model(model.layers), &work);
  (step.*part)();
  return work;
}

}  // namespace

Recording record_headroom(const Job& job, const ModelConfig& model, std::uint64_t steps,
                          const StagePart& part) {
  const std::uint64_t accumulated = job.batch.accumulate.value_or(1);
  // Of a whole model the gradients are there from the start from the second micro-batch on.
  const std::uint64_t telling = part.stages == 1
                                    ? std::min<std::uint64_t>(accumulated, 2)
                                    : telling_micro_batches(part.stage, part.stages, accumulated);
  Recorder recorder;
  HostPeak host;
  {
    Tape tape(recorder);
    HeadroomStep step(tape, job, model, part);
    for (std::uint64_t i = 0; i < steps; ++i) {
      step.run_micro_batches(telling);
      step.run_optimizer();
    }
    host = step.host_peak();
  }
  Recording recording = recorder.take();
  recording.host = host;
  return recording;
}

Recording record_headroom(const Job& job, const ModelConfig& model, std::uint64_t steps) {
  return record_headroom(job, model, steps, whole_model(model.layers));
}

Work work_of_micro_batch(const Job& job, const ModelConfig& model) {
  return work_of(&HeadroomStep::run_micro_batch, job, model);
}

Work work_of_evaluation(const Job& job, const ModelConfig& model) {
  return work_of(&HeadroomStep::run_evaluation, job, model);
}

Work work_of_optimizer(const Job& job, const ModelConfig& model) {
  return work_of(&HeadroomStep::run_optimizer, job, model);
}

}  // namespace headroom::estimate
