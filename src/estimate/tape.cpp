// SPDX-License-Identifier: Apache-2.0
#include "estimate/tape.h"

#include <algorithm>
#include <limits>
#include <queue>
#include <unordered_set>
#include <utility>

namespace headroom::estimate {
namespace {

struct RunsLater {
  bool operator()(const std::shared_ptr<Node>& a, const std::shared_ptr<Node>& b) const {
    return a->sequence < b->sequence;
  }
};

// Counts, for every node below `root`, how many gradients it will be given.
void count_pending(const std::shared_ptr<Node>& root) {
  std::unordered_set<Node*> seen = {root.get()};
  std::vector<Node*> todo = {root.get()};
  while (!todo.empty()) {
    Node* node = todo.back();
    todo.pop_back();
    for (const auto& input : node->inputs) {
      if (!input) continue;
      ++input->pending;
      if (seen.insert(input.get()).second) todo.push_back(input.get());
    }
  }
}

}  // namespace

Tensor Tape::empty(Name name, const Meta& meta, Component component) {
  const std::uint32_t id = recorder_.allocate(name, scope_.id, meta, component);
  return {meta, std::make_shared<Storage>(recorder_, id), nullptr};
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
    leaf.node = std::make_shared<Node>();
    leaf.node->sequence =
        std::numeric_limits<std::uint64_t>::max();  // AccumulateGrad runs at once.
  }
  return leaf;
}

Tensor Tape::view(const Tensor& x, Shape shape) {
  Tensor same = x;
  same.shape = std::move(shape);
  return same;
}

Tensor Tape::connect(Tensor output, const std::vector<Tensor>& inputs, std::vector<Tensor> saved,
                     GradFn backward) const {
  const bool wanted = std::any_of(inputs.begin(), inputs.end(),
                                  [](const Tensor& input) { return input.requires_grad(); });
  if (!grad_enabled_ || !wanted) return output;
  auto node = std::make_shared<Node>();
  node->sequence = sequence_++;
  for (const Tensor& input : inputs) node->inputs.push_back(input.node);
  for (Tensor& tensor : saved)
    tensor.node = nullptr;  // A node that saves its own output is no cycle.
  node->saved = std::move(saved);
  node->backward = std::move(backward);
  node->scope = scope_;
  output.node = std::move(node);
  return output;
}

void Tape::backward(const Tensor& root, Tensor grad) {
  count_pending(root.node);
  ++backward_depth_;
  const bool enabled_before = std::exchange(grad_enabled_, false);
  const ScopeState scope_before = scope_;
  std::priority_queue<std::shared_ptr<Node>, std::vector<std::shared_ptr<Node>>, RunsLater> ready;
  root.node->buffer = std::move(grad);
  ready.push(root.node);
  while (!ready.empty()) {
    const std::shared_ptr<Node> node = ready.top();
    ready.pop();
    Tensor incoming = std::exchange(node->buffer, Tensor{});
    if (!node->backward) {
      accumulate_leaf(*node, std::move(incoming));
      continue;
    }
    scope_ = node->scope;
    std::vector<Tensor> grads = node->backward(*this, std::move(incoming), *node);
    node->saved.clear();
    for (std::size_t i = 0; i < node->inputs.size(); ++i) {
      const std::shared_ptr<Node>& input = node->inputs[i];
      if (!input) continue;
      add_to_buffer(*input, std::exchange(grads[i], Tensor{}));
      if (--input->pending == 0) ready.push(input);
    }
    node->inputs.clear();  // Or the last owner would destroy the whole chain in one recursion.
  }
  --backward_depth_;
  grad_enabled_ = enabled_before;
  scope_ = scope_before;
}

void Tape::add_to_buffer(Node& node, Tensor grad) {
  if (!node.buffer.defined()) {
    node.buffer = std::move(grad);
  } else if (node.buffer.storage.use_count() > 1) {
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
