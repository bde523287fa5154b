// SPDX-License-Identifier: Apache-2.0
// Autograd over shapes: tensors without numbers that allocate, are saved for backward and are freed
// exactly when PyTorch's would be. A model written against a Tape reads like the eager model
// itself, its scopes end where Python's would, and what the Tape writes down is the step's sequence
// of allocations.
//
// The rules are PyTorch's: nodes run in the order of their creation, last first, when all their
// gradients have come in (torch/csrc/autograd/engine.cpp); saved tensors go when their node has
// run; a second gradient is added in place if nobody else holds the first's memory, as the base
// of a view does (input_buffer.cpp, can_accumulate_inplace); a leaf keeps the gradient it is given
// if nobody else holds that (accumulate_grad.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/small_list.h"
#include "estimate/recorder.h"

namespace headroom::estimate {

struct Node;
class Tape;

struct ScopeState {
  std::uint32_t id = 0;  // In the recording.
  Component component = Component::activations;
};

struct Tensor : Meta {
  Counted<Storage> storage;  // Views share it. Null only in a tensor that was moved from.
  Counted<Node> node;        // Null if no gradient flows to this tensor.
  // Of a gradient: a view, whose base holds the memory as well (a reshape's or a transpose's).
  bool viewed = false;

  Meta meta() const { return {shape, element}; }
  bool requires_grad() const { return node != nullptr; }
  bool defined() const { return storage != nullptr; }
};

// A few tensors: what a backward gives, what an operation saves.
using Tensors = SmallList<Tensor, 4>;

// Tensors that somebody else holds for as long as the call takes.
class TensorsView {
 public:
  TensorsView() = default;
  // NOLINTBEGIN(google-explicit-constructor): every list of tensors is one.
  TensorsView(std::initializer_list<Tensor> items) : items_(items.begin(), items.size()) {}
  TensorsView(const std::vector<Tensor>& items) : items_(items) {}
  TensorsView(const Tensors& items) : items_(items.data(), items.size()) {}
  TensorsView(std::span<Tensor> items) : items_(items) {}
  // NOLINTEND(google-explicit-constructor)

  std::size_t size() const { return items_.size(); }
  const Tensor& operator[](std::size_t i) const { return items_[i]; }
  auto begin() const { return items_.begin(); }
  auto end() const { return items_.end(); }

 private:
  std::span<const Tensor> items_;
};

// What an operation left for its backward, or a leaf. Lives in its recorder's pool, in one piece
// with its function, inputs and saved tensors.
struct Node {
  std::uint64_t sequence = 0;
  std::span<Counted<Node>> inputs;
  std::span<Tensor> saved;
  ScopeState scope;                                   // Where it was made.
  Component grad_component = Component::activations;  // Of a leaf: what its gradient is for.
  std::optional<Tensor> grad;                         // Of a leaf: what has been accumulated.
  Counted<Storage> variable;                          // Of a leaf that lives as long as this.

  Tensor buffer;  // Scratch of Tape::backward.
  std::uint32_t pending = 0;
  std::uint32_t counted_in = 0;

  bool wants(std::size_t input) const { return inputs[input] != nullptr; }

  explicit Node(Recorder& recorder, std::size_t bytes) : recorder_(recorder), bytes_(bytes) {}
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;
  virtual ~Node() { let_go(); }

  virtual bool is_leaf() const { return true; }
  // The gradients of the inputs, in their order; undefined where the node does not want one.
  // By value: see OperationNode.
  virtual Tensors run(Tape& /*tape*/, Tensor /*incoming*/) const {  // NOLINT(performance-*)
    return {};
  }
  // Of inputs and saved tensors.
  void forget_saved() { std::destroy(saved.begin(), saved.end()), saved = {}; }
  void forget_inputs() { std::destroy(inputs.begin(), inputs.end()), inputs = {}; }

  std::uint32_t holders = 0;  // base/counted.h
  static void retire(Node* node);

 private:
  void let_go();

  Recorder& recorder_;
  std::size_t bytes_;
};

// The node of an operation whose backward is `Function`: (Tape&, Tensor grad, const Node& node) →
// Tensors. The gradient of the output comes by value, so that a function may let go of it early or
// reuse it. What the function captures lives as long as the graph: shapes, never tensors (those are
// saved).
template <class Function>
struct OperationNode final : Node {
  OperationNode(Recorder& recorder, std::size_t bytes, Function backward)
      : Node(recorder, bytes), function(std::move(backward)) {}

  bool is_leaf() const override { return false; }
  Tensors run(Tape& tape, Tensor incoming) const override {
    return function(tape, std::move(incoming), *this);
  }

  Function function;
};

// Bytes that a product of matrices takes beside its operands and its result while it runs; 0 where
// it takes none. cuBLASLt runs those that add a bias.
struct ProductWorkspace {
  std::uint64_t plain = 0;
  std::uint64_t with_bias = 0;
};

class Tape {
 public:
  // `resident_threads` of the device decide how far a sum over rows is split; 0: it is not.
  explicit Tape(Recorder& recorder, ProductWorkspace workspace = {},
                std::uint64_t resident_threads = 0)
      : recorder_(recorder), product_workspace_(workspace), resident_threads_(resident_threads) {}

  // Plain memory with no gradient, for the component of the scope or for the one given.
  Tensor empty(Name name, const Meta& meta) { return empty(name, meta, scope_.component); }
  Tensor empty(Name name, const Meta& meta, Component component);
  // A product's workspace comes and goes. Call it when the result has been made.
  void multiply(bool with_bias = false);
  // What a sum over the rows of [rows, columns] takes beside its result comes and goes. Call it
  // when the result has been made.
  void sum_rows(std::uint64_t rows, std::uint64_t columns);
  // A leaf. The gradient of a trainable parameter becomes Component::gradients when it arrives.
  Tensor parameter(Name name, const Meta& meta, Component component, bool trainable);
  // All trainable parameters so far, in the order of their making.
  std::vector<Tensor>& trainable() { return trainable_; }
  // The same memory as a leaf of its own, as x.detach().requires_grad_().
  static Tensor detach(const Tensor& x, bool requires_grad);
  // The same where the graph alone may hold it: x.requires_grad_(). A node that accumulates
  // gradients holds its variable (accumulate_grad.h).
  static Tensor require_gradient(const Tensor& x);
  // The same memory under another shape; its gradient is a view as well, so it needs no node.
  static Tensor view(const Tensor& x, Shape shape);

  // Makes `output` the result of a node, if gradients are on and an input wants one. `backward` is
  // as in OperationNode.
  template <class Function>
  Tensor connect(Tensor output, TensorsView inputs, TensorsView saved, Function backward) const {
    if (!connects(inputs)) return output;
    using Made = OperationNode<Function>;
    const std::size_t bytes =
        sizeof(Made) + saved.size() * sizeof(Tensor) + inputs.size() * sizeof(Counted<Node>);
    void* place = recorder_.pool().take(bytes);
    Node* node = ::new (place) Made(recorder_, bytes, std::move(backward));
    attach(*node, static_cast<std::byte*>(place) + sizeof(Made), inputs, saved);
    output.node = Counted<Node>(node);
    return output;
  }

  // Runs the graph below `root` with the gradient `grad`, freeing it on the way. Nothing if `root`
  // wants no gradient.
  void backward(const Tensor& root, Tensor grad);

  // PyTorch's gradient mode; checkpointing runs its first forward without.
  bool grad_enabled() const { return grad_enabled_; }
  void enable_grad(bool enabled) { grad_enabled_ = enabled; }
  bool in_backward() const { return backward_depth_ > 0; }

  // What tensors made now are called and are for. A node's backward runs in the scope it was made
  // in.
  const ScopeState& scope() const { return scope_; }
  void set_scope(ScopeState scope) { scope_ = scope; }
  void set_phase(Phase phase) { recorder_.enter(phase); }
  std::uint32_t open_scope(Name name, std::uint32_t index) {
    return recorder_.open_scope(scope_.id, name, index);
  }
  Name intern(std::string text) { return recorder_.intern(std::move(text)); }

 private:
  bool connects(TensorsView inputs) const;
  // Copies inputs and saved tensors to `place`, behind the node.
  void attach(Node& node, std::byte* place, TensorsView inputs, TensorsView saved) const;
  void count_pending(Node& root);
  void accumulate_leaf(Node& leaf, Tensor grad);
  void add_to_buffer(Node& node, Tensor grad);

  Recorder& recorder_;
  ProductWorkspace product_workspace_;
  std::uint64_t resident_threads_;
  ScopeState scope_;
  bool grad_enabled_ = true;
  int backward_depth_ = 0;
  mutable std::uint64_t sequence_ = 0;
  std::uint32_t backward_passes_ = 0;
  std::vector<Node*> to_count_;  // Scratch of count_pending.
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
