// SPDX-License-Identifier: Apache-2.0
// A GGUF model as llama.cpp sees it: its layers by their numbers, and every weight with its place
// in the file. Names of keys and tensors: ggml-org/llama.cpp, src/llama-arch.cpp; what each family
// makes of them: src/models/*.cpp.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "estimate/files/gguf_header.h"
#include "estimate/llama_cpp/ggml_graph.h"

namespace headroom::estimate::llama {

struct Weight {
  std::string name;
  std::uint32_t type = f32;
  Sizes ne = {1, 1, 1, 1};
  std::uint64_t bytes = 0;
  std::uint64_t offset = 0;            // In the file's data, with its alignment.
  std::optional<std::uint64_t> layer;  // Of "blk.N.…".
};

struct Layer {
  std::uint64_t heads = 0;
  std::uint64_t kv_heads = 0;
  std::uint64_t key_size = 0;  // Of a head.
  std::uint64_t value_size = 0;
  std::uint64_t ff = 0;
  bool windowed = false;
  bool recurrent = false;
  bool caches = true;  // Keys and values of its own.
};

// How a family's graph differs from Llama's.
struct Family {
  bool checked = false;  // Against llama.cpp itself or its published logs.
  bool scaled_embedding = false;
  bool scaled_query = false;
  bool whole_last_layer = false;  // Rows for the output are taken behind the last layer.
  bool post_norm_is_ffn_norm = false;
  bool weights_normed = true;  // Of the chosen experts.
  bool softmax_of_chosen = false;
  bool sigmoid_gate = false;
};

struct Model {
  std::string architecture;
  Family family;
  std::uint64_t hidden = 0;
  std::uint64_t vocabulary = 0;
  std::uint64_t trained_context = 0;
  std::uint64_t window = 0;  // 0: none.
  std::uint64_t experts = 0;
  std::uint64_t experts_used = 0;
  double expert_scale = 0;
  std::uint64_t state_rows = 0;  // Of a recurrent layer and sequence, elements in fp32.
  bool caps_scores = false;
  bool caps_logits = false;
  std::vector<Layer> layers;
  std::vector<Weight> weights;  // In the file's order.
  std::map<std::string, std::size_t, std::less<>> by_name;

  const Weight* find(std::string_view name) const;
  const Weight* find(std::uint64_t layer, std::string_view name) const;  // "attn_q.weight"
  bool is_tied() const { return find("output.weight") == nullptr; }
  bool has_windows() const;
  bool has_recurrence() const;
  std::uint64_t weight_bytes() const;
};

// Fails where a key is missing without which no cache can be sized, and on what is no text model.
Result<Model> make_model(const GgufHeader& header);

}  // namespace headroom::estimate::llama
