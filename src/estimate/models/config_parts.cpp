// SPDX-License-Identifier: Apache-2.0
#include "estimate/models/config_parts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace headroom::estimate {

AttentionShape read_heads(ConfigReader& config, std::uint64_t hidden, const HeadNames& names,
                          const HeadDefaults& defaults) {
  AttentionShape shape;
  const bool own_size = names.head_dim.size() != 0 && config.find(names.head_dim) != nullptr;
  const bool own_kv = names.kv_heads.size() != 0 && config.find(names.kv_heads) != nullptr;
  shape.heads = config.size(names.heads, head_counts, defaults.heads);
  if (own_kv) {
    shape.kv_heads = config.size(names.kv_heads, head_counts);
  } else {
    shape.kv_heads = config.is_inner() ? defaults.kv_heads.value_or(shape.heads) : shape.heads;
  }
  if (own_size) {
    shape.head_dim = config.size(names.head_dim, head_counts);
  } else {
    shape.head_dim = defaults.head_dim.value_or(hidden / shape.heads);
  }
  if (shape.head_dim == 0) {
    config.fail_with("hidden_size", fmt::format("expected at least {} = {}, found {}",
                                                *names.heads.begin(), shape.heads, hidden));
    shape.head_dim = 1;
  }
  if (shape.head_dim > head_counts.max) {
    config.fail_with("hidden_size",
                     fmt::format("expected heads of at most {}, found {} for {} = {}",
                                 head_counts.max, hidden, *names.heads.begin(), shape.heads));
  }
  if (shape.heads % shape.kv_heads != 0) {
    config.fail_with(*names.heads.begin(),
                     fmt::format("expected a multiple of {} = {}, found {}",
                                 names.kv_heads.size() == 0 ? "kv heads" : *names.kv_heads.begin(),
                                 shape.kv_heads, shape.heads));
  }
  return shape;
}

void set_bias(AttentionShape& attention, bool qkv, bool o) {
  attention.q_bias = attention.k_bias = attention.v_bias = qkv;
  attention.o_bias = o;
}

void read_rotary(ConfigReader& config, Stack& stack, double part) {
  stack.positions = Positions::rotary;
  // transformers 5 has both under rope_parameters; there may be one such table per kind of layer.
  ConfigReader parameters = config.inner("rope_parameters");
  stack.rope_theta = config.positive_or({"rope_theta", "rotary_emb_base"},
                                        parameters.positive_or({"rope_theta"}, 10000.0));
  stack.attention.rotary_part =
      config.probability_or({"partial_rotary_factor", "rotary_pct", "rope_pct"},
                            parameters.probability_or({"partial_rotary_factor"}, part));
  if (stack.attention.head_dim % 2 != 0) {
    config.fail_with("head_dim", fmt::format("rotary embedding needs an even number, found {}",
                                             stack.attention.head_dim));
  }
}

std::vector<std::size_t> read_layer_words(ConfigReader& config, const char* key,
                                          std::uint64_t layers,
                                          const std::vector<std::string_view>& words) {
  const auto given = config.texts(key);
  if (given.size() != layers) {
    config.fail_with(
        key, fmt::format("expected a word for each of {} layers, found {}", layers, given.size()));
    return {};
  }
  std::vector<std::size_t> places;
  for (const std::string& word : given) {
    const auto found = std::find(words.begin(), words.end(), std::string_view(word));
    if (found == words.end()) {
      config.fail_with(key,
                       fmt::format("expected {} for each layer, found {}", fmt::join(words, " or "),
                                   shown(word)),
                       Errc::unsupported);
      return {};
    }
    places.push_back(static_cast<std::size_t>(found - words.begin()));
  }
  return places;
}

void read_windows(ConfigReader& config, Stack& stack, std::optional<std::uint64_t> absent,
                  const std::function<bool(std::uint64_t layer)>& in_layer) {
  const std::uint64_t otherwise = config.is_null("sliding_window") ? 0 : absent.value_or(0);
  const std::uint64_t window = config.size_or({"sliding_window"}, window_sizes, otherwise);
  if (window == 0) return;
  if (config.has("layer_types")) {
    for (const std::size_t word : read_layer_words(config, "layer_types", stack.layers,
                                                   {"full_attention", "sliding_attention"}))
      stack.windows.push_back(word == 1 ? window : 0);
    // What goes by layers finds one for each, also behind a problem.
    stack.windows.resize(stack.layers);
  } else {
    for (std::uint64_t layer = 0; layer < stack.layers; ++layer) {
      stack.windows.push_back(in_layer(layer) ? window : 0);
    }
  }
}

void refuse_layer_types(ConfigReader& config) {
  const Json* given = config.find({"layer_types"});
  if (given == nullptr) return;
  for (const std::string& type : config.texts("layer_types")) {
    if (type == "sliding_attention" || type == "full_attention") continue;
    config.fail_with("layer_types",
                     fmt::format("expected sliding_attention or full_attention for each layer (no "
                                 "other kind is planned), found {}",
                                 shown(type)),
                     Errc::unsupported);
    return;
  }
}

void refuse_uneven_widths(ConfigReader& config, const Architecture& model,
                          const std::string& family) {
  // By what transformers 5.23 says of hidden_size = 770 with 12 heads.
  static constexpr std::array<std::string_view, 27> refusing{"llama",
                                                             "gemma2",
                                                             "gemma3_text",
                                                             "arcee",
                                                             "stablelm",
                                                             "gpt2",
                                                             "gpt_bigcode",
                                                             "gptj",
                                                             "gpt_neox",
                                                             "falcon",
                                                             "bloom",
                                                             "opt",
                                                             "bart",
                                                             "mbart",
                                                             "pegasus",
                                                             "whisper",
                                                             "bert",
                                                             "roberta",
                                                             "xlm-roberta",
                                                             "camembert",
                                                             "ernie",
                                                             "distilbert",
                                                             "modernbert",
                                                             "clip_text_model",
                                                             "clip_vision_model",
                                                             "deepseek_v2",
                                                             "siglip_vision_model"};
  const bool refused =
      std::find(refusing.begin(), refusing.end(), std::string_view(family)) != refusing.end();
  if (!refused || config.failed()) return;
  for (const Stack& stack : model.stacks) {
    const std::uint64_t heads = stack.attention.heads;
    if (heads == 0 || stack.hidden % heads == 0) continue;
    config.fail_with("hidden_size",
                     fmt::format("expected a multiple of the {} attention heads, without which "
                                 "transformers makes no {}, found {}",
                                 heads, family, stack.hidden));
    return;
  }
}

Norm layer_norm(ConfigReader& config, const Names& eps, double otherwise) {
  return {NormKind::layer, /*bias=*/true, config.positive_or(eps, otherwise)};
}

}  // namespace headroom::estimate
