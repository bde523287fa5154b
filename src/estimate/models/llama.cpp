// SPDX-License-Identifier: Apache-2.0
// Llama and the families that differ from it in a bias, a norm, a window or a number. Sources:
// transformers, models/{llama,mistral,granite,qwen2,qwen3}/configuration_*.py and modeling_*.py.
#include "estimate/models/llama.h"

#include "estimate/models/families.h"

namespace headroom::estimate {

void read_vocabulary(ConfigReader& config, Architecture& out, Stack& stack,
                     std::optional<std::uint64_t> class_default, bool tied) {
  out.vocabulary = config.size({"vocab_size"}, vocabularies, class_default);
  stack.input.width = stack.hidden;
  out.head.tied = config.flag_or({"tie_word_embeddings"}, tied);
}

Stack& add_llama_stack(ConfigReader& config, Architecture& out, const LlamaDefaults& defaults) {
  Stack& stack = out.stacks.emplace_back();
  stack.hidden = config.size({"hidden_size"}, widths, defaults.hidden);
  stack.mlp.intermediate =
      defaults.dense ? config.size({"intermediate_size"}, widths, defaults.intermediate)
                     : config.size_or({"intermediate_size"}, widths, defaults.intermediate);
  stack.layers = config.size({"num_hidden_layers"}, layer_counts, defaults.layers);
  stack.attention = read_heads(config, stack.hidden, {}, defaults.heads);
  stack.mlp.activation = config.activation_or({"hidden_act"}, Activation::silu);
  stack.norm.eps = config.positive_or({"rms_norm_eps"}, defaults.eps);
  stack.dropout.attention = config.probability_or({"attention_dropout"}, 0);
  read_vocabulary(config, out, stack, defaults.vocabulary, defaults.tied);
  out.max_positions = config.size_or({"max_position_embeddings"}, position_counts,
                                     config.is_inner() ? defaults.positions : 0);
  read_rotary(config, stack, defaults.rotary_part);
  return stack;
}

void parse_llama(ConfigReader& config, Architecture& out) {
  Stack& stack = add_llama_stack(config, out);
  const bool bias = config.flag_or({"attention_bias"}, false);
  set_bias(stack.attention, bias, bias);
  stack.mlp.bias = config.flag_or({"mlp_bias"}, false);
}

void parse_mistral(ConfigReader& config, Architecture& out) {
  Stack& stack = add_llama_stack(
      config, out, {.intermediate = 14336, .heads = {32, 8, std::nullopt}, .positions = 131072});
  read_windows(config, stack, 4096, [](std::uint64_t) { return true; });
}

// Llama with four numbers that something is multiplied by; the one of the attention takes the place
// of 1/√head_dim. They are always multiplied, also by 1.
void parse_granite(ConfigReader& config, Architecture& out) {
  parse_llama(config, out);
  Stack& stack = out.stacks.back();
  stack.input.scaled = true;
  stack.residual_scaled = true;
  out.head.scaled = true;
}

namespace {

// From max_window_layers on, where use_sliding_window says so.
void read_qwen_windows(ConfigReader& config, Stack& stack) {
  if (!config.flag_or({"use_sliding_window"}, false)) return;
  const std::uint64_t first = config.size_or({"max_window_layers"}, {0, layer_counts.max}, 28);
  read_windows(config, stack, 4096, [first](std::uint64_t layer) { return layer >= first; });
}

}  // namespace

// The class gives q, k and v a bias, whatever the config says.
void parse_qwen2(ConfigReader& config, Architecture& out) {
  Stack& stack = add_llama_stack(config, out,
                                 {.intermediate = 22016,
                                  .vocabulary = 151936,
                                  .heads = {32, 32, std::nullopt},
                                  .positions = 32768});
  set_bias(stack.attention, true, false);
  read_qwen_windows(config, stack);
}

void parse_qwen3(ConfigReader& config, Architecture& out) {
  Stack& stack = add_llama_stack(
      config, out,
      {.intermediate = 22016, .vocabulary = 151936, .heads = {32, 32, 128}, .positions = 32768});
  const bool bias = config.flag_or({"attention_bias"}, false);
  set_bias(stack.attention, bias, bias);
  stack.attention.qk_norm = true;
  read_qwen_windows(config, stack);
}

void set_norms_around(Stack& stack, const char* first_post, const char* second,
                      const char* second_post) {
  stack.placement = NormPlacement::around;
  stack.names.first_post_norm = first_post;
  stack.names.second_norm = second;
  stack.names.second_post_norm = second_post;
}

}  // namespace headroom::estimate
