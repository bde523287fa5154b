// SPDX-License-Identifier: Apache-2.0
// A graph of ggml's tensors as sizes without numbers. The rules by which ggml orders, places and
// reuses them decide what a compute buffer takes. Source of the rules: ggml-org/llama.cpp,
// ggml/src/ggml.c (shapes, order of nodes) and ggml/src/ggml-alloc.c (which results may take the
// place of an operand).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace headroom::estimate::llama {

using TensorId = std::uint32_t;
using Sizes = std::array<std::uint64_t, 4>;  // Innermost first, as ggml's ne and nb.

// Types of elements by their numbers in a GGUF file (estimate/files/gguf_types.h).
inline constexpr std::uint32_t f32 = 0;
inline constexpr std::uint32_t f16 = 1;
inline constexpr std::uint32_t i32 = 26;
inline constexpr std::uint32_t i64 = 27;

enum class Op : std::uint8_t {
  none,  // An input, a weight, a part of the cache, or a copy on another device.
  view,  // Reshape, permute and transpose as well.
  add,
  add_id,
  argsort,
  clamp,
  convert,  // Cast, cont and pad: always a result of its own.
  div,
  flash_attention,
  get_rows,
  glu,
  mul,
  mul_mat,
  mul_mat_id,
  norm,
  rms_norm,
  rope,
  scale,
  set_rows,
  soft_max,
  sum_rows,
  unary,
};

// Whether the result may take the place of an operand of the same layout.
bool can_be_in_place(Op op);

// Bytes of so many elements of a type; whole blocks.
std::uint64_t row_bytes(std::uint32_t type, std::uint64_t elements);
bool is_quantised(std::uint32_t type);

struct Tensor {
  Op op = Op::none;
  std::uint32_t type = f32;
  Sizes ne = {1, 1, 1, 1};  // Elements.
  Sizes nb = {};            // Bytes from one to the next.
  std::vector<TensorId> sources;
  std::optional<TensorId> view_of;  // Never itself a view.
  bool is_input = false;
  bool is_output = false;
  bool is_weight = false;
  std::optional<std::uint32_t> held_on;    // In memory that the graph does not allocate.
  std::optional<std::uint32_t> forced_on;  // The backend that it must run on.
  std::uint64_t extra_bytes = 0;           // What a GPU's kernel keeps behind the result.

  std::uint64_t bytes() const;
  std::uint64_t rows() const { return ne[1] * ne[2] * ne[3]; }
  bool has_layout_of(const Tensor& other) const {
    return type == other.type && ne == other.ne && nb == other.nb;
  }
};

// What a device's backend computes in one kernel reads its operands to the end: `tensors` keep
// their memory until `last` is computed, or the operation behind it (ggml_backend_graph_optimize).
struct Kept {
  std::vector<TensorId> tensors;
  TensorId last = 0;
  bool one_more = false;
};

class Graph {
 public:
  const Tensor& at(TensorId id) const { return tensors_[id]; }
  Tensor& at(TensorId id) { return tensors_[id]; }
  std::size_t size() const { return tensors_.size(); }

  TensorId add_input(std::uint32_t type, Sizes ne);
  TensorId add_held(std::uint32_t type, Sizes ne, std::uint32_t backend, bool is_weight);
  TensorId add(Op op, std::uint32_t type, Sizes ne, std::vector<TensorId> sources);
  // The same memory seen with other sizes; `nb` as if it were dense where it is left out.
  TensorId add_view(TensorId of, Sizes ne, std::optional<Sizes> nb = std::nullopt);
  // A view whose dimensions 1 and 2 change places.
  TensorId permute(TensorId of);
  // A view into the memory of `of`, written by an operation with more sources.
  TensorId add_write(TensorId of, std::vector<TensorId> sources);
  // A tensor of the same layout in memory of its own, without an operation.
  TensorId add_copy(TensorId of);

  // Appends what `id` needs and itself, each once, operands from left to right.
  void expand(TensorId id);
  // Holds on a GPU only; the CPU's backend computes operations one by one.
  void keep(Kept kept) { kept_.push_back(std::move(kept)); }
  const std::vector<Kept>& kept() const { return kept_; }
  const std::vector<TensorId>& nodes() const { return nodes_; }
  const std::vector<TensorId>& leafs() const { return leafs_; }

 private:
  std::vector<Tensor> tensors_;
  std::vector<bool> visited_;
  std::vector<TensorId> nodes_;
  std::vector<TensorId> leafs_;
  std::vector<Kept> kept_;
};

}  // namespace headroom::estimate::llama
