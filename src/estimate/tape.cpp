// SPDX-License-Identifier: Apache-2.0
#include "estimate/tape.h"

#include <algorithm>
#include <limits>
#include <new>
#include <utility>

namespace headroom::estimate {
namespace {

bool runs_later(const Counted<Node>& a, const Counted<Node>& b) {
  return a->sequence < b->sequence;
}

}  // namespace

void Node::let_go() {
  buffer = {};
  grad.reset();
  forget_saved();
  forget_inputs();
}

void Node::retire(Node* node) {
  BlockPool& pool = node->recorder_.pool();
  const std::size_t bytes = node->bytes_;
  node->~Node();
  pool.give_back(node, bytes);
}

// Counts, for every node below `root`, how many gradients it will be given.
void Tape::count_pending(Node& root) {
  ++backward_passes_;
  root.counted_in = backward_passes_;
  to_count_ = {&root};
  while (!to_count_.empty()) {
    Node* node = to_count_.back();
    to_count_.pop_back();
    for (const auto& input : node->inputs) {
      if (!input) continue;
      ++input->pending;
      if (std::exchange(input->counted_in, backward_passes_) != backward_passes_)
        to_count_.push_back(input.get());
    }
  }
}

Tensor Tape::empty(Name name, const Meta& meta, Component component) {
  return {meta, recorder_.hold(recorder_.allocate(name, scope_.id, meta, component)), nullptr};
}

void Tape::multiply(bool with_bias) {
  const std::uint64_t bytes = with_bias ? product_workspace_.with_bias : product_workspace_.plain;
  if (bytes == 0) return;
  const Tensor workspace =
      empty("product_workspace", {{bytes}, Element::uint8}, Component::workspace);
}

Tensor Tape::parameter(Name name, const Meta& meta, Component component, bool trainable) {
  Tensor tensor = detach(empty(name, meta, component), trainable);
  if (trainable) {
    tensor.node->grad_component = Component::gradients;
    trainable_.push_back(tensor);
  }
  return tensor;
}

Tensor Tape::detach(const Tensor& x, bool requires_grad) {
  Tensor leaf = x;
  leaf.node = nullptr;
  if (requires_grad) {
    Recorder& recorder = x.storage->recorder();
    leaf.node =
        Counted<Node>(::new (recorder.pool().take(sizeof(Node))) Node(recorder, sizeof(Node)));
    leaf.node->sequence =
        std::numeric_limits<std::uint64_t>::max();  // AccumulateGrad runs at once.
  }
  return leaf;
}

Tensor Tape::view(const Tensor& x, Shape shape) {
  Tensor same = x;
  same.shape = shape;
  return same;
}

bool Tape::connects(TensorsView inputs) const {
  return grad_enabled_ && std::any_of(inputs.begin(), inputs.end(),
                                      [](const Tensor& input) { return input.requires_grad(); });
}

void Tape::attach(Node& node, std::byte* place, TensorsView inputs, TensorsView saved) const {
  node.sequence = sequence_++;
  node.scope = scope_;
  auto* kept = static_cast<Tensor*>(static_cast<void*>(place));
  node.saved = {kept, saved.size()};
  for (const Tensor& tensor :
       saved)  // Without its node: one that saves its own output is no cycle.
    ::new (kept++) Tensor{tensor.meta(), tensor.storage, nullptr};
  auto* below = static_cast<Counted<Node>*>(static_cast<void*>(kept));
  node.inputs = {below, inputs.size()};
  for (const Tensor& input : inputs) ::new (below++) Counted<Node>(input.node);
}

void Tape::backward(const Tensor& root, Tensor grad) {
  if (!root.requires_grad()) return;
  count_pending(*root.node);
  ++backward_depth_;
  const bool enabled_before = std::exchange(grad_enabled_, false);
  const ScopeState scope_before = scope_;
  std::vector<Counted<Node>> ready;  // A heap.
  root.node->buffer = std::move(grad);
  ready.push_back(root.node);
  while (!ready.empty()) {
    std::pop_heap(ready.begin(), ready.end(), runs_later);
    const Counted<Node> node = std::move(ready.back());
    ready.pop_back();
    Tensor incoming = std::exchange(node->buffer, Tensor{});
    if (node->is_leaf()) {
      accumulate_leaf(*node, std::move(incoming));
      continue;
    }
    scope_ = node->scope;
    Tensors grads = node->run(*this, std::move(incoming));
    node->forget_saved();
    for (std::size_t i = 0; i < node->inputs.size(); ++i) {
      const Counted<Node>& input = node->inputs[i];
      if (!input) continue;
      add_to_buffer(*input, std::exchange(grads[i], Tensor{}));
      if (--input->pending > 0) continue;
      ready.push_back(input);
      std::push_heap(ready.begin(), ready.end(), runs_later);
    }
    node->forget_inputs();  // Or the last owner would destroy the whole chain in one recursion.
  }
  --backward_depth_;
  grad_enabled_ = enabled_before;
  scope_ = scope_before;
}

void Tape::add_to_buffer(Node& node, Tensor grad) {
  if (!node.buffer.defined()) {
    node.buffer = std::move(grad);
  } else if (node.buffer.storage.use_count() > 1 || node.buffer.viewed) {
    node.buffer = empty("gradient_sum", node.buffer);
  }  // Otherwise it is added in place, and `grad` goes.
}

void Tape::accumulate_leaf(Node& leaf, Tensor grad) {
  if (leaf.grad) return;  // Added in place.
  if (grad.storage.use_count() > 1) grad = empty("gradient_copy", grad);
  if (leaf.grad_component != Component::activations) grad.storage->retag(leaf.grad_component);
  leaf.grad = std::move(grad);
}

}  // namespace headroom::estimate
