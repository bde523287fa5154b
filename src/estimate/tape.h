// SPDX-License-Identifier: Apache-2.0
// Autograd over shapes: tensors without numbers that allocate, are saved for backward and are freed
// exactly when PyTorch's would be. A model written against a Tape reads like the eager model
// itself, its scopes end where Python's would, and what the Tape writes down is the step's sequence
// of allocations.
//
// The rules are PyTorch's: nodes run in the order of their creation, last first, when all their
// gradients have come in (torch/csrc/autograd/engine.cpp); saved tensors go when their node has
// run; a second gradient is added in place if nobody else holds the first (input_buffer.cpp); a
// leaf keeps the gradient it is given if nobody else holds that (accumulate_grad.h).
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "estimate/recorder.h"

namespace headroom::estimate {

struct Node;
class Tape;

struct ScopeState {
  std::uint32_t id = 0;  // In the recording.
  Component component = Component::activations;
};

struct Tensor : Meta {
  std::shared_ptr<Storage> storage;  // Views share it. Null only in a tensor that was moved from.
  std::shared_ptr<Node> node;        // Null if no gradient flows to this tensor.

  Meta meta() const { return {shape, element}; }
  bool requires_grad() const { return node != nullptr; }
  bool defined() const { return storage != nullptr; }
};

// The gradients of a node's inputs, in their order; undefined where the node does not want one. The
// gradient of the output comes by value, so that a function may let go of it early or reuse it.
// What the closure captures lives as long as the graph: shapes, never tensors (those go into
// `saved`).
using GradFn = std::function<std::vector<Tensor>(Tape&, Tensor grad, const Node& node)>;

struct Node {
  std::uint64_t sequence = 0;
  std::vector<std::shared_ptr<Node>> inputs;
  std::vector<Tensor> saved;
  GradFn backward;                                    // Empty in a leaf.
  ScopeState scope;                                   // Where it was made.
  std::optional<Tensor> grad;                         // Of a leaf: what has been accumulated.
  Component grad_component = Component::activations;  // Of a leaf: what its gradient is for.

  Tensor buffer;  // Scratch of Tape::backward.
  std::size_t pending = 0;

  bool wants(std::size_t input) const { return inputs[input] != nullptr; }
};

class Tape {
 public:
  explicit Tape(Recorder& recorder) : recorder_(recorder) {}

  // Plain memory with no gradient, for the component of the scope or for the one given.
  Tensor empty(Name name, const Meta& meta) { return empty(name, meta, scope_.component); }
  Tensor empty(Name name, const Meta& meta, Component component);
  // A leaf. The gradient of a trainable parameter becomes Component::gradients when it arrives.
  Tensor parameter(Name name, const Meta& meta, Component component, bool trainable);
  // All trainable parameters so far, in the order of their making.
  std::vector<Tensor>& trainable() { return trainable_; }
  // The same memory as a leaf of its own, as x.detach().requires_grad_().
  static Tensor detach(const Tensor& x, bool requires_grad);
  // The same memory under another shape; its gradient is a view as well, so it needs no node.
  static Tensor view(const Tensor& x, Shape shape);

  // Makes `output` the result of a node, if gradients are on and an input wants one.
  Tensor connect(Tensor output, const std::vector<Tensor>& inputs, std::vector<Tensor> saved,
                 GradFn backward) const;

  // Runs the graph below `root` with the gradient `grad`, freeing it on the way.
  void backward(const Tensor& root, Tensor grad);

  // PyTorch's gradient mode; checkpointing runs its first forward without.
  bool grad_enabled() const { return grad_enabled_; }
  void enable_grad(bool enabled) { grad_enabled_ = enabled; }
  bool in_backward() const { return backward_depth_ > 0; }

  // What tensors made now are called and are for. A node's backward runs in the scope it was made
  // in.
  const ScopeState& scope() const { return scope_; }
  void set_scope(ScopeState scope) { scope_ = std::move(scope); }
  void set_phase(Phase phase) { recorder_.enter(phase); }
  std::uint32_t open_scope(Name name, std::uint32_t index) {
    return recorder_.open_scope(scope_.id, name, index);
  }
  Name intern(std::string text) { return recorder_.intern(std::move(text)); }

 private:
  void accumulate_leaf(Node& leaf, Tensor grad);
  void add_to_buffer(Node& node, Tensor grad);

  Recorder& recorder_;
  ScopeState scope_;
  bool grad_enabled_ = true;
  int backward_depth_ = 0;
  mutable std::uint64_t sequence_ = 0;
  std::vector<Tensor> trainable_;
};

// Names inside it begin with the scope's name, and its index where it has one ("layers", 3); what
// is made in it is for `component`, if one is given.
class Scope {
 public:
  Scope(Tape& tape, Name name, std::optional<Component> component = std::nullopt)
      : Scope(tape, name, Recording::no_index, component) {}
  Scope(Tape& tape, Name name, std::uint64_t index,
        std::optional<Component> component = std::nullopt)
      : tape_(tape), before_(tape.scope()) {
    tape.set_scope({tape.open_scope(name, static_cast<std::uint32_t>(index)),
                    component.value_or(before_.component)});
  }
  ~Scope() { tape_.set_scope(before_); }
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

 private:
  Tape& tape_;
  ScopeState before_;
};

}  // namespace headroom::estimate
