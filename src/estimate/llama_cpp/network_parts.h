// SPDX-License-Identifier: Apache-2.0
// What the parts of a network share while its graph is built: weights by their names, inputs, and
// the few operations that every part is made of.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "estimate/llama_cpp/context.h"
#include "estimate/llama_cpp/ggml_graph.h"
#include "estimate/llama_cpp/model.h"
#include "estimate/llama_cpp/placement.h"

namespace headroom::estimate::llama {

class Parts {
 public:
  Parts(const Model& of, const Options& with, const Context& in, const Placement& at)
      : model(of), options(with), context(in), placement(at) {}

  const Model& model;
  const Options& options;
  const Context& context;
  const Placement& placement;
  Graph graph;

  // A weight of the model, once for all its uses; nothing if the model has none of that name.
  std::optional<TensorId> weight(const std::string& name);
  std::optional<TensorId> weight(std::uint64_t layer, std::string_view name);
  TensorId output_weight();

  TensorId same(Op op, TensorId like, std::vector<TensorId> sources);  // Dense, shaped like `like`.
  TensorId mul_mat(TensorId weight, TensorId input);
  TensorId mul_mat_id(TensorId weight, TensorId input, TensorId chosen);
  TensorId get_rows(TensorId from, TensorId rows);
  TensorId add_bias(TensorId input, std::optional<TensorId> bias);
  // Of a layer it runs where the layer is, if the model is on GPUs whole.
  TensorId norm(TensorId input, std::optional<TensorId> scale, std::optional<TensorId> shift,
                std::optional<std::uint64_t> layer);
  TensorId shaped(TensorId input, Sizes ne) { return graph.add_view(input, ne); }
  const Sizes& ne(TensorId id) const { return graph.at(id).ne; }

 private:
  std::map<std::string, TensorId> weights_;
};

// Attention: attention.cpp. `input` is normed; the result is the output projection's.
class AttentionInputs {
 public:
  explicit AttentionInputs(Parts& parts);
  TensorId attend(std::uint64_t layer, TensorId input);

 private:
  struct Heads {
    TensorId q, k, v;
  };
  struct Cache {
    TensorId k, v, rows_k, rows_v, mask;
  };
  Heads project(std::uint64_t layer, TensorId input);
  // Latent attention: latent_attention.cpp. Normed and turned already.
  bool is_latent(std::uint64_t layer) const;
  bool keys_alone(std::uint64_t layer) const;  // Its cache has no values of their own.
  Heads project_latent(std::uint64_t layer, TensorId input);
  Heads absorb(std::uint64_t layer, TensorId q, TensorId latent, TensorId k_turned);
  Heads expand_latent(std::uint64_t layer, TensorId q, TensorId latent, TensorId k_turned);
  TensorId restore(std::uint64_t layer, TensorId mixed);  // To heads, where they were absorbed.
  TensorId turn(std::uint64_t layer, TensorId heads);     // Rope.
  std::optional<TensorId> rotation(bool of_keys);
  TensorId rotated(TensorId heads, TensorId rotation);
  Cache cache(std::uint64_t layer);
  void store(std::uint64_t layer, const Heads& heads, const Cache& cache);
  TensorId mask(bool windowed);
  TensorId scores(std::uint64_t layer, const Heads& heads, const Cache& cache);
  TensorId flash(std::uint64_t layer, TensorId q, TensorId k, TensorId v, TensorId mask);
  TensorId plain(std::uint64_t layer, TensorId q, TensorId k, TensorId v, TensorId mask);

  Parts& parts_;
  TensorId positions_;
  std::optional<TensorId> masks_[2], rows_k_[2], rows_v_[2];  // Without and with a window.
  std::optional<TensorId> rotation_k_, rotation_v_;
  bool rotates_k_ = false;
  bool rotates_v_ = false;
};

// Feed-forward parts: feed_forward.cpp.
TensorId feed_forward(Parts& parts, std::uint64_t layer, TensorId input);
bool has_experts(Parts& parts, std::uint64_t layer);

}  // namespace headroom::estimate::llama
