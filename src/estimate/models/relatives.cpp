// SPDX-License-Identifier: Apache-2.0
// Families that are a Llama but for their norms, their rotation or their MLP. Sources:
// configuration_*.py and modeling_*.py of each in transformers, models.
#include <fmt/format.h>

#include <algorithm>

#include "base/document.h"
#include "estimate/models/families.h"
#include "estimate/models/llama.h"

namespace headroom::estimate {
namespace {

// Of q, k, v and o alike, where the file says so.
void read_attention_bias(ConfigReader& config, Stack& stack, bool absent = false) {
  const bool bias = config.flag_or({"attention_bias"}, absent);
  set_bias(stack.attention, bias, bias);
}

// Every `pattern`-th layer, from 1, sees all tokens.
void read_pattern_windows(ConfigReader& config, Stack& stack, std::uint64_t pattern) {
  read_windows(config, stack, 4096,
               [pattern](std::uint64_t layer) { return (layer + 1) % pattern != 0; });
}

// Layers that see all tokens do not know their places.
void turn_windowed_layers_only(Stack& stack) {
  for (const std::uint64_t window : stack.windows) stack.unturned.push_back(window == 0);
}

// An MLP of two matrices.
void without_gate(ConfigReader& config, Stack& stack) {
  stack.mlp.gated = false;
  stack.mlp.bias = config.flag_or({"mlp_bias"}, false);
  stack.mlp.activation = config.activation_or({"hidden_act"}, Activation::relu2);
}

void set_olmo_norms(Stack& stack) {
  stack.norm.wide_weight = true;
  stack.placement = NormPlacement::behind;
  stack.attention.qk_norm = stack.attention.qk_norm_whole = true;
}

void set_cohere(ConfigReader& config, Architecture& out, Stack& stack) {
  read_attention_bias(config, stack);
  stack.norm = {NormKind::layer, /*bias=*/false, config.positive_or({"layer_norm_eps"}, 1e-5)};
  stack.norm.by_hand = true;
  stack.placement = NormPlacement::parallel_one;
  stack.attention.wide_rotary = true;
  out.head.scaled = true;
  if (config.flag_or({"use_qk_norm"}, false))
    config.fail("use_qk_norm", "false (a norm for each single head is not known)",
                Errc::unsupported);
}

constexpr LlamaDefaults cohere_defaults{.hidden = 8192,
                                        .intermediate = 22528,
                                        .layers = 40,
                                        .vocabulary = 256000,
                                        .heads = {64, std::nullopt, std::nullopt},
                                        .positions = 8192,
                                        .tied = true};

Stack& add_glm_stack(ConfigReader& config, Architecture& out) {
  Stack& stack = add_llama_stack(config, out,
                                 {.intermediate = 13696,
                                  .layers = 40,
                                  .vocabulary = 151552,
                                  .heads = {32, 2, 128},
                                  .positions = 131072,
                                  .rotary_part = 0.5});
  set_bias(stack.attention, config.flag_or({"attention_bias"}, true), false);
  stack.mlp.fused_gate_up = true;
  return stack;
}

}  // namespace

void parse_arcee(ConfigReader& config, Architecture& out) {
  Stack& stack = add_llama_stack(
      config, out,
      {.hidden = 2560, .intermediate = 18432, .heads = {32, std::nullopt, std::nullopt}});
  read_attention_bias(config, stack);
  without_gate(config, stack);
}

void parse_cohere(ConfigReader& config, Architecture& out) {
  set_cohere(config, out, add_llama_stack(config, out, cohere_defaults));
}

void parse_cohere2(ConfigReader& config, Architecture& out) {
  Stack& stack = add_llama_stack(config, out, cohere_defaults);
  set_cohere(config, out, stack);
  read_pattern_windows(config, stack, config.size_or({"sliding_window_pattern"}, layer_counts, 4));
  turn_windowed_layers_only(stack);
}

void parse_ernie4_5(ConfigReader& config, Architecture& out) {
  Stack& stack = add_llama_stack(config, out,
                                 {.hidden = 1024,
                                  .intermediate = 3072,
                                  .layers = 18,
                                  .vocabulary = 103424,
                                  .heads = {16, 2, 128},
                                  .positions = 131072,
                                  .tied = true});
  const bool bias = config.flag_or({"use_bias"}, false);
  set_bias(stack.attention, bias, bias);
  stack.mlp.bias = bias;
  stack.attention.wide_rotary = true;
}

void parse_exaone4(ConfigReader& config, Architecture& out) {
  Stack& stack = add_llama_stack(config, out,
                                 {.intermediate = 16384,
                                  .vocabulary = 102400,
                                  .heads = {32, 32, std::nullopt},
                                  .positions = 2048});
  stack.placement = NormPlacement::behind;
  stack.attention.qk_norm = true;
  std::uint64_t pattern = 4;  // A number, or a word of which each letter is a layer ("LLLG").
  const Json* given = config.find({"sliding_window_pattern"});
  if (given != nullptr && given->is_string())
    pattern = std::max<std::uint64_t>(1, given->get<std::string>().size());
  else
    pattern = config.size_or({"sliding_window_pattern"}, layer_counts, pattern);
  read_pattern_windows(config, stack, pattern);
  turn_windowed_layers_only(stack);
}

void parse_glm(ConfigReader& config, Architecture& out) {
  add_glm_stack(config, out);
}

void parse_glm4(ConfigReader& config, Architecture& out) {
  Stack& stack = add_glm_stack(config, out);
  set_norms_around(stack, "post_self_attn_layernorm", "post_attention_layernorm",
                   "post_mlp_layernorm");
}

void parse_helium(ConfigReader& config, Architecture& out) {
  Stack& stack = add_llama_stack(config, out,
                                 {.hidden = 2560,
                                  .intermediate = 7040,
                                  .layers = 24,
                                  .vocabulary = 48000,
                                  .heads = {20, 20, 128},
                                  .positions = 4096});
  set_bias(stack.attention, config.flag_or({"attention_bias"}, false), false);
  stack.mlp.bias = config.flag_or({"mlp_bias"}, false);
  stack.norm.wide_weight = true;
}

void parse_hunyuan(ConfigReader& config, Architecture& out) {
  Stack& stack = add_llama_stack(config, out,
                                 {.vocabulary = 290943, .heads = {32, std::nullopt, std::nullopt}});
  read_attention_bias(config, stack);
  stack.attention.qk_norm = stack.attention.qk_norm_late = true;
}

void parse_ministral(ConfigReader& config, Architecture& out) {
  Stack& stack = add_llama_stack(
      config, out, {.intermediate = 14336, .heads = {32, 8, std::nullopt}, .positions = 131072});
  read_windows(config, stack, 4096, [](std::uint64_t) { return true; });
}

void parse_nemotron(ConfigReader& config, Architecture& out) {
  Stack& stack = add_llama_stack(config, out,
                                 {.hidden = 6144,
                                  .intermediate = 24576,
                                  .vocabulary = 256000,
                                  .heads = {48, std::nullopt, std::nullopt},
                                  .positions = 4096,
                                  .rotary_part = 0.5});
  read_attention_bias(config, stack);
  without_gate(config, stack);
  stack.norm = layer_norm(config, {"norm_eps"});
  stack.norm.weight_made = true;
}

void parse_olmo(ConfigReader& config, Architecture& out) {
  Stack& stack = add_llama_stack(config, out,
                                 {.vocabulary = 50304, .heads = {32, std::nullopt, std::nullopt}});
  read_attention_bias(config, stack);
  stack.norm = {NormKind::layer, /*bias=*/false, 1e-5};
  stack.norm.weightless = true;
}

void parse_olmo2(ConfigReader& config, Architecture& out) {
  Stack& stack = add_llama_stack(config, out,
                                 {.vocabulary = 50304, .heads = {32, std::nullopt, std::nullopt}});
  read_attention_bias(config, stack);
  set_olmo_norms(stack);
}

void parse_olmo3(ConfigReader& config, Architecture& out) {
  parse_olmo2(config, out);
  read_pattern_windows(config, out.stacks.back(), 4);
}

void parse_seed_oss(ConfigReader& config, Architecture& out) {
  Stack& stack = add_llama_stack(config, out,
                                 {.intermediate = 27648,
                                  .layers = 64,
                                  .vocabulary = 155136,
                                  .heads = {80, 8, 128},
                                  .positions = 524288});
  set_bias(stack.attention, config.flag_or({"attention_bias"}, true),
           config.flag_or({"attention_out_bias"}, false));
  stack.mlp.bias = config.flag_or({"mlp_bias"}, false);
  stack.dropout.attention = config.probability_or({"attention_dropout"}, 0.1);
  stack.dropout.residual = config.probability_or({"residual_dropout"}, 0.1);
}

// no_rope_layers has a 0 for each layer that is not turned.
void parse_smollm3(ConfigReader& config, Architecture& out) {
  Stack& stack = add_llama_stack(config, out,
                                 {.hidden = 2048,
                                  .intermediate = 11008,
                                  .layers = 36,
                                  .vocabulary = 128256,
                                  .heads = {16, 4, std::nullopt},
                                  .positions = 32768,
                                  .tied = true});
  read_attention_bias(config, stack);
  stack.mlp.bias = config.flag_or({"mlp_bias"}, false);
  const std::uint64_t interval = config.size_or({"no_rope_layer_interval"}, layer_counts, 4);
  const Json* turned = config.find({"no_rope_layers"});
  const bool listed = turned != nullptr && turned->is_array() && turned->size() == stack.layers;
  if (turned != nullptr && !listed)
    config.fail("no_rope_layers", fmt::format("an array of {} numbers", stack.layers));
  for (std::uint64_t layer = 0; layer < stack.layers; ++layer)
    stack.unturned.push_back(listed ? (*turned)[layer] == 0 : (layer + 1) % interval == 0);
  if (!config.flag_or({"use_sliding_window"}, false)) return;
  const std::vector<bool> unturned = stack.unturned;
  read_windows(config, stack, std::nullopt,
               [unturned](std::uint64_t layer) { return unturned[layer]; });
}

}  // namespace headroom::estimate
