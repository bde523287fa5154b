// SPDX-License-Identifier: Apache-2.0
// Decoders with Mamba-2's layers, alone or beside attention: Mamba-2 itself, Granite 4, Bamba,
// Falcon-H1 and Nemotron-H. Sources: transformers,
// models/{mamba2,granitemoehybrid,bamba,falcon_h1,nemotron_h}.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "base/document.h"
#include "estimate/models/families.h"
#include "estimate/models/llama.h"

namespace headroom::estimate {
namespace {

// What a family calls the sizes, and what its class has where the file says nothing.
struct Mamba2Keys {
  const char* heads = "mamba_n_heads";
  const char* head_dim = "mamba_d_head";
  const char* state = "mamba_d_state";
  const char* groups = "mamba_n_groups";
  const char* kernel = "mamba_d_conv";
  const char* chunk = "mamba_chunk_size";
  const char* bias = "mamba_proj_bias";
  const char* conv_bias = "mamba_conv_bias";
  std::uint64_t default_state = 256, default_groups = 1, default_chunk = 256;
};

constexpr Mamba2Keys short_keys{
    "num_heads",  "head_dim", "state_size",    "n_groups", "conv_kernel",
    "chunk_size", "use_bias", "use_conv_bias", 128,        8,
    256};

// Heads of `inner` together; nothing: of whatever they are.
Mamba2& read_mamba2(ConfigReader& config, Stack& stack, const Mamba2Keys& keys,
                    std::optional<std::uint64_t> inner) {
  Mamba2& mixer = stack.mamba2.emplace();
  mixer.heads = config.size_or({keys.heads}, head_counts, 128);
  const Json* given = config.find({keys.head_dim});
  const std::uint64_t automatic = inner ? *inner / mixer.heads : 64;
  mixer.head_dim = given != nullptr && given->is_string() && *given == "auto"
                       ? automatic
                       : config.size_or({keys.head_dim}, head_counts, automatic);
  if (mixer.head_dim == 0 || mixer.inner() != inner.value_or(mixer.inner()))
    config.fail_with(keys.heads,
                     fmt::format("expected heads of {} = {} that are {} wide together, "
                                 "found {}",
                                 keys.head_dim, mixer.head_dim, inner.value_or(0), mixer.heads));
  mixer.groups = config.size_or({keys.groups}, head_counts, keys.default_groups);
  if (mixer.heads % mixer.groups != 0)
    config.fail_with(keys.heads, fmt::format("expected a multiple of {} = {}, found {}",
                                             keys.groups, mixer.groups, mixer.heads));
  mixer.state = config.size_or({keys.state}, head_counts, keys.default_state);
  mixer.kernel = config.size_or({keys.kernel}, {1, 256}, 4);
  mixer.chunk = config.size_or({keys.chunk}, widths, keys.default_chunk);
  mixer.bias = mixer.out_bias = config.flag_or({keys.bias}, false);
  mixer.conv_bias = config.flag_or({keys.conv_bias}, true);
  return mixer;
}

std::uint64_t expanded(ConfigReader& config, const char* key, const Stack& stack) {
  return std::min(widths.max, config.size_or({key}, {1, 64}, 2) * stack.hidden);
}

// By the words of either age; all are Mamba's where nothing is said.
void read_granite_layers(ConfigReader& config, Stack& stack) {
  stack.mixers.assign(stack.layers, Mixer::mamba2);
  const char* key = config.has("layers_block_type") ? "layers_block_type" : "layer_types";
  if (!config.has(key)) return;
  const auto words = read_layer_words(config, key, stack.layers,
                                      {"mamba", "attention", "linear_attention", "full_attention"});
  for (std::size_t layer = 0; layer < words.size(); ++layer)
    if (words[layer] % 2 == 1) stack.mixers[layer] = Mixer::attention;
}

}  // namespace

// GraniteMoE with a shared expert, of which there may be nothing but that one: it is the MLP then.
void parse_granite_hybrid(ConfigReader& config, Architecture& out) {
  parse_granite_moe(config, out);
  Stack& stack = out.stacks.back();
  const std::uint64_t shared = config.size_or({"shared_intermediate_size"}, widths, 1024);
  ModuleNames& names = stack.names;
  names.gate_up = "input_linear";
  names.down = "output_linear";
  if (stack.experts) {
    stack.experts->shared_intermediate = shared;
    stack.experts->shared_gate = false;
    stack.experts->shared_fused = true;
    names.shared_expert = "shared_mlp";
  } else {
    stack.mlp.intermediate = shared;
    stack.mlp.fused_gate_up = true;
    names.mlp = "shared_mlp";
  }
  if (config.text_or({"position_embedding_type"}, "") != "rope") stack.positions = Positions::none;
  read_granite_layers(config, stack);
  read_mamba2(config, stack, {}, expanded(config, "mamba_expand", stack));
}

// Half of each head is turned, whatever the file says.
void parse_bamba(ConfigReader& config, Architecture& out) {
  Stack& stack = add_llama_stack(config, out,
                                 {.intermediate = 14336,
                                  .vocabulary = 128000,
                                  .heads = {32, 8, std::nullopt},
                                  .positions = 262144,
                                  .eps = 1e-5});
  const bool bias = config.flag_or({"attention_bias"}, false);
  set_bias(stack.attention, bias, bias);
  stack.attention.rotary_part = 0.5;
  stack.mlp.bias = config.flag_or({"mlp_bias"}, false);
  stack.mixers.assign(stack.layers, Mixer::mamba2);
  for (const std::uint64_t layer : config.sizes_or("attn_layer_indices", {}))
    if (layer < stack.layers) stack.mixers[layer] = Mixer::attention;
  read_mamba2(config, stack, {}, expanded(config, "mamba_expand", stack));
  ModuleNames& names = stack.names;
  names.mlp = "feed_forward";
  names.second_norm = "pre_ff_layernorm";
  names.final_norm = "model.final_layernorm";
}

// Attention and Mamba-2 beside each other in every layer, and a number wherever something is made.
void parse_falcon_h1(ConfigReader& config, Architecture& out) {
  Stack& stack = add_llama_stack(config, out,
                                 {.intermediate = 14336,
                                  .vocabulary = 128000,
                                  .heads = {32, 8, std::nullopt},
                                  .positions = 8192,
                                  .eps = 1e-5});
  const bool bias = config.flag_or({"attention_bias"}, false);
  set_bias(stack.attention, bias, bias);
  stack.attention.scaled_keys = true;
  stack.mlp.bias = config.flag_or({"mlp_bias"}, false);
  stack.mlp.scaled = stack.input.scaled = out.head.scaled = true;
  stack.mixers.assign(stack.layers, Mixer::attention_beside_mamba2);
  const std::uint64_t inner = config.is_null("mamba_d_ssm")
                                  ? expanded(config, "mamba_expand", stack)
                                  : config.size_or({"mamba_d_ssm"}, widths, 1024);
  Mamba2& mixer = read_mamba2(config, stack, {}, inner);
  mixer.out_bias = config.flag_or({"projectors_bias"}, false);
  mixer.scaled = true;
  const bool before = config.flag_or({"mamba_norm_before_gate"}, true);
  mixer.norm = !config.flag_or({"mamba_rms_norm"}, false) ? Mamba2::NormPlace::none
               : before                                   ? Mamba2::NormPlace::before_gate
                                                          : Mamba2::NormPlace::behind_gate;
  ModuleNames& names = stack.names;
  names.mlp = "feed_forward";
  names.second_norm = "pre_ff_layernorm";
  names.final_norm = "model.final_layernorm";
}

namespace {

// Names of stacks whose layers are one half each.
void set_single_halves(Architecture& out, Stack& stack) {
  stack.single_halves = out.head.widens = true;
  stack.positions = Positions::none;
  ModuleNames& names = stack.names;
  names.layers = "backbone.layers";
  names.attention = names.mlp = "mixer";
  names.first_norm = "norm";
  names.embedding = "backbone.embeddings";
  names.final_norm = "backbone.norm_f";
}

// A letter for each layer, in older files; a word in newer ones.
void read_nemotron_layers(ConfigReader& config, Stack& stack) {
  static constexpr std::array<Mixer, 3> kinds{Mixer::mamba2, Mixer::attention, Mixer::feed_forward};
  const std::string pattern = config.text_or({"hybrid_override_pattern"}, "");
  const char* key = config.has("layers_block_type") ? "layers_block_type" : "layer_types";
  if (!pattern.empty() && !config.has(key)) {
    static constexpr std::string_view letters = "M*-";
    for (const char letter : pattern) {
      const std::size_t at = letters.find(letter);
      if (at == std::string_view::npos)
        return config.fail_with("hybrid_override_pattern",
                                fmt::format("expected M, * or - for each layer (layers of experts "
                                            "are not planned), found {}",
                                            shown(pattern)),
                                Errc::unsupported);
      stack.mixers.push_back(kinds[at]);
    }
    if (pattern.size() > layer_counts.max)
      return config.fail("hybrid_override_pattern", "a letter for each layer");
  } else {
    for (const std::size_t word :
         read_layer_words(config, key, stack.layers,
                          {"linear_attention", "full_attention", "mlp", "mamba", "attention"}))
      stack.mixers.push_back(kinds[word % kinds.size()]);
  }
  stack.layers = stack.mixers.size();
}

}  // namespace

// Every layer is one of Mamba-2, attention and an MLP of two matrices.
void parse_nemotron_h(ConfigReader& config, Architecture& out) {
  Stack& stack = add_llama_stack(config, out,
                                 {.intermediate = 21504,
                                  .layers = 52,
                                  .vocabulary = 131072,
                                  .heads = {32, 8, 128},
                                  .positions = 4096,
                                  .eps = 1e-5});
  set_single_halves(out, stack);
  stack.norm.eps = config.positive_or({"layer_norm_epsilon"}, 1e-5);
  stack.norm.wide_weight = true;
  stack.mlp.gated = false;
  stack.mlp.bias = config.flag_or({"mlp_bias"}, false);
  stack.mlp.activation = config.activation_or({"mlp_hidden_act"}, Activation::relu2);
  read_nemotron_layers(config, stack);
  Mamba2Keys keys = short_keys;
  keys.heads = "mamba_num_heads";
  keys.head_dim = "mamba_head_dim";
  keys.state = "ssm_state_size";
  keys.default_chunk = 128;
  read_mamba2(config, stack, keys, std::nullopt);
}

void parse_mamba2(ConfigReader& config, Architecture& out) {
  Stack& stack = out.stacks.emplace_back();
  stack.hidden = config.size({"hidden_size"}, widths, 4096);
  stack.layers = config.size({"num_hidden_layers", "n_layer"}, layer_counts, 64);
  stack.norm.eps = config.positive_or({"layer_norm_epsilon"}, 1e-5);
  // Read by what counts keys and values: there are none.
  stack.attention.heads = stack.attention.kv_heads = stack.attention.head_dim = 0;
  stack.mixers.assign(stack.layers, Mixer::mamba2);
  stack.wide_residual = config.flag_or({"residual_in_fp32"}, true);
  read_vocabulary(config, out, stack, 32768, /*tied=*/false);
  read_mamba2(config, stack, short_keys, expanded(config, "expand", stack));
  set_single_halves(out, stack);
}

}  // namespace headroom::estimate
