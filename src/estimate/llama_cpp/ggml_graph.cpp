// SPDX-License-Identifier: Apache-2.0
#include "estimate/llama_cpp/ggml_graph.h"

#include <utility>

#include "estimate/files/gguf_types.h"

namespace headroom::estimate::llama {
namespace {

Sizes dense(std::uint32_t type, const Sizes& ne) {
  Sizes nb = {row_bytes(type, 1), row_bytes(type, ne[0]), 0, 0};
  if (const GgmlType* known = find_ggml_type(type)) nb[0] = known->block_bytes;
  nb[2] = nb[1] * ne[1];
  nb[3] = nb[2] * ne[2];
  return nb;
}

}  // namespace

bool can_be_in_place(Op op) {
  switch (op) {
    case Op::add:
    case Op::add_id:
    case Op::clamp:
    case Op::div:
    case Op::mul:
    case Op::rms_norm:
    case Op::rope:
    case Op::scale:
    case Op::soft_max:
    case Op::unary:
      return true;
    default:
      return false;
  }
}

std::uint64_t row_bytes(std::uint32_t type, std::uint64_t elements) {
  const GgmlType* known = find_ggml_type(type);
  if (known == nullptr) return elements * 4;
  return (elements + known->block_elements - 1) / known->block_elements * known->block_bytes;
}

bool is_quantised(std::uint32_t type) {
  const GgmlType* known = find_ggml_type(type);
  return known != nullptr && known->block_elements > 1;
}

std::uint64_t Tensor::bytes() const {
  std::uint64_t bytes = row_bytes(type, ne[0]);
  if (!is_quantised(type)) bytes = row_bytes(type, 1) + (ne[0] - 1) * nb[0];
  for (std::size_t i = 1; i < ne.size(); ++i) bytes += (ne[i] - 1) * nb[i];
  return bytes;
}

TensorId Graph::add(Op op, std::uint32_t type, Sizes ne, std::vector<TensorId> sources) {
  Tensor tensor;
  tensor.op = op;
  tensor.type = type;
  tensor.ne = ne;
  tensor.nb = dense(type, ne);
  tensor.sources = std::move(sources);
  tensors_.push_back(std::move(tensor));
  visited_.push_back(false);
  return static_cast<TensorId>(tensors_.size() - 1);
}

TensorId Graph::add_input(std::uint32_t type, Sizes ne) {
  const TensorId id = add(Op::none, type, ne, {});
  tensors_[id].is_input = true;
  return id;
}

TensorId Graph::add_held(std::uint32_t type, Sizes ne, std::uint32_t backend, bool is_weight) {
  const TensorId id = add(Op::none, type, ne, {});
  tensors_[id].held_on = backend;
  tensors_[id].is_weight = is_weight;
  return id;
}

TensorId Graph::add_view(TensorId of, Sizes ne, std::optional<Sizes> nb) {
  const TensorId id = add(Op::view, tensors_[of].type, ne, {of});
  if (nb) tensors_[id].nb = *nb;
  tensors_[id].view_of = tensors_[of].view_of.value_or(of);
  return id;
}

TensorId Graph::permute(TensorId of) {
  Sizes ne = tensors_[of].ne;
  Sizes nb = tensors_[of].nb;
  std::swap(ne[1], ne[2]);
  std::swap(nb[1], nb[2]);
  return add_view(of, ne, nb);
}

TensorId Graph::add_write(TensorId of, std::vector<TensorId> sources) {
  const TensorId id = add(Op::set_rows, tensors_[of].type, tensors_[of].ne, std::move(sources));
  tensors_[id].nb = tensors_[of].nb;
  tensors_[id].view_of = tensors_[of].view_of.value_or(of);
  return id;
}

TensorId Graph::add_copy(TensorId of) {
  const TensorId id = add(Op::none, tensors_[of].type, tensors_[of].ne, {});
  tensors_[id].nb = tensors_[of].nb;
  return id;
}

void Graph::expand(TensorId root) {
  // The next operand of each tensor on the way down; recursion as deep as a model is not wanted.
  std::vector<std::pair<TensorId, std::size_t>> way;
  const auto enter = [&](TensorId id) {
    if (visited_[id]) return;
    visited_[id] = true;
    way.emplace_back(id, 0);
  };
  enter(root);
  while (!way.empty()) {
    auto& [id, next] = way.back();
    const Tensor& tensor = tensors_[id];
    if (next < tensor.sources.size()) {
      enter(tensor.sources[next++]);
      continue;
    }
    (tensor.op == Op::none ? leafs_ : nodes_).push_back(id);
    way.pop_back();
  }
}

}  // namespace headroom::estimate::llama
