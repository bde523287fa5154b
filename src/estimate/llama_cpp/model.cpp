// SPDX-License-Identifier: Apache-2.0
#include "estimate/llama_cpp/model.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "base/bytes.h"
#include "base/text.h"
#include "estimate/files/gguf_types.h"

namespace headroom::estimate::llama {
namespace {

constexpr std::uint64_t layers_max = 4096;
constexpr std::uint64_t size_max = std::uint64_t{1} << 32U;
constexpr std::uint64_t experts_max = 65'536;
constexpr std::uint64_t experts_used_max = 128;

// Windows by a pattern that the file does not state: every n-th layer sees everything
// (ggml-org/llama.cpp, src/models/*.cpp, set_swa_pattern).
struct Pattern {
  std::string_view architecture;
  std::uint64_t every;
};
constexpr std::array<Pattern, 9> patterns = {{{"gemma2", 2},
                                              {"gemma3", 6},
                                              {"gemma3n", 5},
                                              {"gemma-embedding", 6},
                                              {"gpt-oss", 2},
                                              {"cohere2", 4},
                                              {"llama4", 4},
                                              {"olmo2", 4},
                                              {"exaone4", 4}}};

Family family_of(std::string_view name) {
  Family family;
  const auto is = [name](std::initializer_list<std::string_view> names) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  family.checked = is({"llama", "qwen2", "qwen3", "qwen3moe", "gemma2", "gemma3", "phi3", "gpt-oss",
                       "granite", "deepseek2"});
  family.scaled_embedding = is({"gemma", "gemma2", "gemma3", "gemma3n", "gemma4"});
  family.scaled_query = is({"gemma", "gemma2", "gemma3", "phi2", "phi3"});
  family.whole_last_layer = is({"gpt-oss"});
  family.post_norm_is_ffn_norm = is({"gpt-oss", "glm4moe", "seed_oss"});
  family.weights_normed = !is({"qwen2moe", "olmoe", "gpt-oss", "deepseek"});
  family.softmax_of_chosen = is({"gpt-oss"});
  family.sigmoid_gate = is({"glm4moe", "deepseek3", "minimax-m2", "ernie4_5-moe"});
  return family;
}

std::uint32_t type_of(const std::string& name) {
  for (std::uint32_t id = 0; id < 64; ++id) {
    const GgmlType* type = find_ggml_type(id);
    if (type != nullptr && type->name == name) return id;
  }
  return f32;
}

std::optional<std::uint64_t> layer_of(std::string_view name) {
  if (!name.starts_with("blk.")) return std::nullopt;
  const std::size_t dot = name.find('.', 4);
  return parse_u64(name.substr(4, dot == std::string_view::npos ? dot : dot - 4));
}

class Reader {
 public:
  explicit Reader(const GgufHeader& header) : header_(header) {}

  Result<Model> read() {
    const std::string* architecture = header_.text("general.architecture");
    if (architecture == nullptr)
      return Error{Errc::unsupported,
                   "general.architecture: expected the name of a model's family, found nothing",
                   "give the path of a model's own .gguf file"};
    model_.architecture = *architecture;
    model_.family = family_of(*architecture);
    prefix_ = *architecture + ".";
    HEADROOM_TRY(const std::uint64_t count, need("block_count", layers_max));
    HEADROOM_TRY(model_.hidden, need("embedding_length", size_max));
    HEADROOM_TRY(const std::uint64_t heads, need_some("attention.head_count"));
    model_.trained_context =
        std::clamp<std::uint64_t>(number("context_length").value_or(4096), 1, size_max);
    model_.experts = std::min(number("expert_count").value_or(0), experts_max);
    model_.experts_used =
        std::min({number("expert_used_count").value_or(0), model_.experts, experts_used_max});
    if (const auto gate = number("expert_gating_func"))  // llama-hparams.h, 2: sigmoid.
      model_.family.sigmoid_gate = *gate == 2;
    model_.expert_scale = header_.real(prefix_ + "expert_weights_scale").value_or(0);
    model_.caps_scores = *architecture == "gemma2" || has("attn_logit_softcapping");
    model_.caps_logits = *architecture == "gemma2" || has("final_logit_softcapping");
    add_weights();
    add_layers(count, heads);
    add_windows();
    add_recurrence();
    return std::move(model_);
  }

 private:
  bool has(const std::string& key) const { return header_.metadata.contains(prefix_ + key); }
  std::optional<std::uint64_t> number(const std::string& key) const {
    return header_.number(prefix_ + key);
  }

  Result<std::uint64_t> need(const std::string& key, std::uint64_t max) const {
    const auto found = number(key);
    if (found && *found > 0 && *found <= max) return *found;
    return Error{Errc::invalid,
                 fmt::format("{}{}: expected a number from 1 to {}, found {}", prefix_, key, max,
                             found ? std::to_string(*found) : "none"),
                 "give the path of a model's own .gguf file, not of an adapter's or a projector's"};
  }

  // A number, or one for each layer.
  Result<std::uint64_t> need_some(const std::string& key) const {
    const GgufArray* each = header_.array(prefix_ + key);
    if (each == nullptr || each->numbers.empty()) return need(key, size_max);
    return static_cast<std::uint64_t>(
        std::clamp(*std::max_element(each->numbers.begin(), each->numbers.end()), 0.0, 1e9));
  }

  std::uint64_t at(const std::string& key, std::uint64_t layer, std::uint64_t otherwise) const {
    if (const auto one = number(key)) return std::min(*one, size_max);
    const GgufArray* each = header_.array(prefix_ + key);
    if (each == nullptr || layer >= each->numbers.size()) return otherwise;
    return static_cast<std::uint64_t>(std::clamp(each->numbers[layer], 0.0, 4e9));
  }

  void add_weights() {
    std::uint64_t offset = 0;
    for (const StoredTensor& tensor : header_.weights.tensors) {
      Weight weight;
      weight.name = tensor.name;
      weight.type = type_of(tensor.type);
      for (std::size_t i = 0; i < tensor.shape.size() && i < weight.ne.size(); ++i)
        weight.ne[i] = std::max<std::uint64_t>(1, tensor.shape[tensor.shape.size() - 1 - i]);
      weight.bytes = tensor.bytes;
      weight.offset = offset;
      weight.layer = layer_of(tensor.name);
      offset += round_up(tensor.bytes, 32);
      model_.by_name.emplace(weight.name, model_.weights.size());
      model_.weights.push_back(std::move(weight));
    }
    const Weight* embedding = model_.find("token_embd.weight");
    const GgufArray* tokens = header_.array("tokenizer.ggml.tokens");
    std::uint64_t rows = number("vocab_size").value_or(tokens != nullptr ? tokens->length : 0);
    if (embedding != nullptr) rows = embedding->ne[1];
    model_.vocabulary = std::clamp<std::uint64_t>(rows, 1, size_max);
  }

  void add_layers(std::uint64_t count, std::uint64_t heads) {
    const std::uint64_t head = heads == 0 ? 0 : model_.hidden / heads;
    for (std::uint64_t i = 0; i < count; ++i) {
      Layer layer;
      layer.heads = at("attention.head_count", i, heads);
      layer.kv_heads = at("attention.head_count_kv", i, layer.heads);
      layer.key_size = at("attention.key_length", i, head);
      layer.value_size = at("attention.value_length", i, head);
      layer.ff = at("feed_forward_length", i, 0);
      model_.layers.push_back(layer);
    }
  }

  void add_windows() {
    model_.window = at("attention.sliding_window", 0, model_.architecture == "gemma2" ? 4096 : 0);
    if (model_.window == 0) return;
    const auto* const found =
        std::find_if(patterns.begin(), patterns.end(),
                     [&](const Pattern& one) { return one.architecture == model_.architecture; });
    const std::string key = "attention.sliding_window_pattern";
    const GgufArray* each = header_.array(prefix_ + key);
    std::uint64_t every = found == patterns.end() ? 0 : found->every;
    if (const auto stated = number(key)) every = *stated;
    for (std::size_t i = 0; i < model_.layers.size(); ++i) {
      Layer& layer = model_.layers[i];
      if (each != nullptr && i < each->numbers.size()) {
        layer.windowed = each->numbers[i] != 0;
      } else if (every > 0) {
        layer.windowed = i % every + 1 < every;
      }
      if (!layer.windowed) continue;
      layer.key_size = at("attention.key_length_swa", i, layer.key_size);
      layer.value_size = at("attention.value_length_swa", i, layer.value_size);
    }
    if (!model_.has_windows()) model_.window = 0;
    const std::uint64_t shared = number("attention.shared_kv_layers").value_or(0);
    for (std::size_t i = 0; i < model_.layers.size(); ++i)
      model_.layers[i].caches = i + shared < model_.layers.size();
  }

  // Sizes of the states: src/llama-hparams.cpp, n_embd_r and n_embd_s.
  void add_recurrence() {
    const std::uint64_t convolution = at("ssm.conv_kernel", 0, 0);
    const std::uint64_t inner = at("ssm.inner_size", 0, 0);
    const std::uint64_t state = at("ssm.state_size", 0, 0);
    const std::uint64_t groups = at("ssm.group_count", 0, 0);
    const std::uint64_t short_convolution = at("shortconv.l_cache", 0, 0);
    if (inner == 0 && short_convolution == 0) return;
    model_.state_rows =
        inner == 0 ? model_.hidden * (std::max<std::uint64_t>(short_convolution, 1) - 1)
                   : (convolution > 0 ? convolution - 1 : 0) * (inner + 2 * groups * state) +
                         state * inner;
    const std::uint64_t every = at("full_attention_interval", 0, 0);
    const bool both = model_.architecture == "falcon-h1";
    const bool only = model_.architecture.starts_with("mamba");
    for (std::size_t i = 0; i < model_.layers.size(); ++i) {
      Layer& layer = model_.layers[i];
      layer.recurrent = both || only || (every > 0 ? (i + 1) % every != 0 : layer.kv_heads == 0);
      layer.caches = layer.caches && !only && (both || !layer.recurrent);
    }
  }

  const GgufHeader& header_;
  std::string prefix_;
  Model model_;
};

}  // namespace

const Weight* Model::find(std::string_view name) const {
  const auto found = by_name.find(name);
  return found == by_name.end() ? nullptr : &weights[found->second];
}

const Weight* Model::find(std::uint64_t layer, std::string_view name) const {
  return find(fmt::format("blk.{}.{}", layer, name));
}

bool Model::has_windows() const {
  return std::any_of(layers.begin(), layers.end(), [](const Layer& one) { return one.windowed; });
}

bool Model::has_recurrence() const {
  return std::any_of(layers.begin(), layers.end(), [](const Layer& one) { return one.recurrent; });
}

std::uint64_t Model::weight_bytes() const {
  return std::accumulate(
      weights.begin(), weights.end(), std::uint64_t{0},
      [](std::uint64_t sum, const Weight& weight) { return sum + weight.bytes; });
}

Result<Model> make_model(const GgufHeader& header) {
  return Reader(header).read();
}

}  // namespace headroom::estimate::llama
