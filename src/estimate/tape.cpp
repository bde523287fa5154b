// SPDX-License-Identifier: Apache-2.0
#include "estimate/tape.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <new>
#include <utility>

namespace headroom::estimate {
namespace {

std::uint64_t divide_up(std::uint64_t a, std::uint64_t b) {
  return (a + b - 1) / b;
}

bool runs_later(const Counted<Node>& a, const Counted<Node>& b) {
  return a->sequence < b->sequence;
}

// Of a kernel that sums rows, as native/cuda/Reduce.cuh lays it out (setReduceConfig): threads add
// up columns in fours; where there are many rows for few columns, several blocks share a column and
// leave what each has found (global_memory_size, in fp32).
std::uint64_t row_sum_bytes(std::uint64_t rows, std::uint64_t columns,
                            std::uint64_t resident_threads) {
  constexpr std::uint64_t warp = 32, threads_max = 512, values_min = 16, values_max = 256;
  const std::uint64_t vector = columns % 4 == 0 ? 4 : columns % 2 == 0 ? 2 : 1;
  const std::uint64_t threads = threads_max / vector;
  const std::uint64_t groups = std::max<std::uint64_t>(1, columns / vector);
  std::uint64_t width = std::min({std::bit_floor(groups), warp, threads});
  const std::uint64_t height =
      std::min(std::bit_floor(std::max<std::uint64_t>(1, rows)), threads / width);
  width = std::min(std::bit_floor(groups), threads / height);
  const std::uint64_t values = divide_up(rows, height);
  if (values < std::min(height * values_min, values_max) || values < values_max) return 0;
  const std::uint64_t grid = divide_up(groups, width);
  const std::uint64_t wanted = resident_threads / (width * height);
  if (grid > wanted) return 0;
  const std::uint64_t blocks =
      std::max(std::min(divide_up(wanted, grid), divide_up(values, values_min)),
               divide_up(values, values_max));
  return blocks > 1 ? size_of(Element::fp32) * columns * blocks * width * vector : 0;
}

}  // namespace

void Node::let_go() {
  buffer = {};
  grad.reset();
  variable = {};
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

void Tape::sum_rows(std::uint64_t rows, std::uint64_t columns) {
  const std::uint64_t bytes = row_sum_bytes(rows, columns, resident_threads_);
  if (bytes == 0) return;
  const Tensor partial = empty("partial_sums", {{bytes}, Element::uint8}, Component::workspace);
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

Tensor Tape::require_gradient(const Tensor& x) {
  Tensor leaf = detach(x, true);
  leaf.node->variable = x.storage;
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
