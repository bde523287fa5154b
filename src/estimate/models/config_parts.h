// SPDX-License-Identifier: Apache-2.0
// What the parsers of several families share: heads, rotary embedding, windows.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "estimate/models/config_reader.h"

namespace headroom::estimate {

// How a family calls its heads; an empty list of names: it has no such key.
struct HeadNames {
  Names heads = {"num_attention_heads"};
  Names kv_heads = {"num_key_value_heads"};
  Names head_dim = {"head_dim"};
};

// What the family's class has where an inner table leaves the key out.
struct HeadDefaults {
  std::optional<std::uint64_t> heads = std::nullopt;
  std::optional<std::uint64_t> kv_heads = std::nullopt;  // Nothing: as many as heads.
  std::optional<std::uint64_t> head_dim = std::nullopt;  // Nothing: hidden / heads.
};

// heads, kv_heads and head_dim, which fit together.
AttentionShape read_heads(ConfigReader& config, std::uint64_t hidden, const HeadNames& names = {},
                          const HeadDefaults& defaults = {});
// The same bias on q, k and v, and another on o.
void set_bias(AttentionShape& attention, bool qkv, bool o);

// rope_theta and the part of a head that is turned, under whichever of their names; `part` is the
// class's default. Heads that are turned need an even size.
void read_rotary(ConfigReader& config, Stack& stack, double part = 1.0);

// For each layer, which of `words` stands under `key`; none and a problem if it is another one, or
// if there are not as many as layers.
std::vector<std::size_t> read_layer_words(ConfigReader& config, const char* key,
                                          std::uint64_t layers,
                                          const std::vector<std::string_view>& words);

// windows from layer_types, else from sliding_window in the layers that the class chooses. `absent`
// is sliding_window's default; null is none.
void read_windows(ConfigReader& config, Stack& stack, std::optional<std::uint64_t> absent,
                  const std::function<bool(std::uint64_t layer)>& in_layer);

// What a class of transformers refuses: layer_types of kinds that its layers are not, and widths
// that heads do not divide. `family` is the model_type.
void refuse_layer_types(ConfigReader& config);
void refuse_uneven_widths(ConfigReader& config, const Architecture& model,
                          const std::string& family);

// LayerNorm with weight and bias.
Norm layer_norm(ConfigReader& config, const Names& eps, double otherwise = 1e-5);

}  // namespace headroom::estimate
