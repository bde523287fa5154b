// SPDX-License-Identifier: Apache-2.0
// Falcon (RW, 7B, 40B, 11B) and BLOOM, whose names it took over. Sources: transformers,
// models/{falcon,bloom}.
#include "estimate/models/families.h"
#include "estimate/models/llama.h"

namespace headroom::estimate {
namespace {

Stack& add_bloom_stack(ConfigReader& config, Architecture& out) {
  Stack& stack = out.stacks.emplace_back();
  stack.hidden = config.size({"hidden_size", "n_embed", "n_embd"}, widths);
  stack.layers = config.size({"num_hidden_layers", "n_layer"}, layer_counts);
  stack.attention =
      read_heads(config, stack.hidden,
                 {.heads = {"num_attention_heads", "n_head"}, .kv_heads = {}, .head_dim = {}});
  stack.attention.fused_qkv = true;
  stack.mlp.intermediate = 4 * stack.hidden;
  stack.mlp.gated = false;
  stack.norm = layer_norm(config, {"layer_norm_epsilon"});
  stack.dropout.residual = config.probability_or({"hidden_dropout"}, 0);
  stack.dropout.attention = config.probability_or({"attention_dropout"}, 0);
  read_vocabulary(config, out, stack, std::nullopt, /*tied=*/true);
  ModuleNames& names = stack.names;
  names.layers = "transformer.h";
  names.attention = "self_attention";
  names.qkv = "query_key_value";
  names.o = "dense";
  names.up = "dense_h_to_4h";
  names.down = "dense_4h_to_h";
  names.embedding = "transformer.word_embeddings";
  names.final_norm = "transformer.ln_f";
  return stack;
}

// multi_query means one k and v for all heads, but only in the old architecture; the new one has
// num_kv_heads of them.
std::uint64_t kv_heads_of(ConfigReader& config, const AttentionShape& attention, bool renewed) {
  if (!renewed && config.flag_or({"multi_query"}, true)) return 1;
  const std::uint64_t kv_heads =
      config.size_or({"num_kv_heads", "n_head_kv"}, head_counts, attention.heads);
  if (attention.heads % kv_heads == 0) return kv_heads;
  config.fail("num_kv_heads", "a divisor of the number of heads");
  return 1;
}

}  // namespace

void parse_falcon(ConfigReader& config, Architecture& out) {
  Stack& stack = add_bloom_stack(config, out);
  // Before it had a name of its own here, the new architecture was the type "RefinedWeb".
  const bool renewed = config.flag_or({"new_decoder_architecture"},
                                      config.text_or({"model_type"}, "") == "RefinedWeb");
  stack.attention.narrow_softmax = true;
  stack.attention.kv_heads = kv_heads_of(config, stack.attention, renewed);
  stack.attention.indexes_heads = !renewed && config.flag_or({"multi_query"}, true);
  const bool bias = config.flag_or({"bias"}, false);
  set_bias(stack.attention, bias, bias);
  stack.mlp.bias = bias;
  stack.mlp.intermediate = config.size_or({"ffn_hidden_size"}, widths, 4 * stack.hidden);
  stack.mlp.activation = config.activation_or({"activation"}, Activation::gelu);
  if (!config.flag_or({"parallel_attn"}, true)) {
    stack.placement = NormPlacement::before;
  } else if (config.size_or({"num_ln_in_parallel_attn"}, {1, 2}, renewed ? 2 : 1) == 2) {
    stack.placement = NormPlacement::parallel_two;
    stack.names.first_norm = "ln_attn";
    stack.names.second_norm = "ln_mlp";
  } else {
    stack.placement = NormPlacement::parallel_one;
  }
  out.max_positions = config.size_or({"max_position_embeddings"}, position_counts, 2048);
  if (config.flag_or({"alibi"}, false)) {
    stack.positions = Positions::alibi;
  } else {
    read_rotary(config, stack);
  }
}

void parse_bloom(ConfigReader& config, Architecture& out) {
  Stack& stack = add_bloom_stack(config, out);
  set_bias(stack.attention, true, true);
  stack.mlp.bias = true;
  stack.mlp.activation = Activation::gelu_tanh;
  stack.input.norm = true;
  stack.positions = Positions::alibi;
  stack.attention.names_scores = true;
  out.max_positions = config.size_or({"seq_length"}, position_counts, 2048);
}

}  // namespace headroom::estimate
