// SPDX-License-Identifier: Apache-2.0
// The first Qwen, which brings its own code (modeling_qwen.py beside its weights): one matrix for
// q, k and v with a bias, no other bias, RMSNorm, and an intermediate_size of which each of the two
// branches has half.
#include "estimate/models/families.h"
#include "estimate/models/llama.h"

namespace headroom::estimate {

void parse_qwen(ConfigReader& config, Architecture& out) {
  Stack& stack = out.stacks.emplace_back();
  stack.hidden = config.size({"hidden_size"}, widths);
  stack.layers = config.size({"num_hidden_layers"}, layer_counts);
  stack.attention =
      read_heads(config, stack.hidden, {.kv_heads = {}, .head_dim = {"kv_channels", "head_dim"}});
  set_bias(stack.attention, true, false);
  stack.attention.fused_qkv = true;
  const std::uint64_t both = config.size({"intermediate_size"}, {2, widths.max});
  if (both % 2 != 0) config.fail("intermediate_size", "an even number");
  stack.mlp.intermediate = both / 2;
  stack.norm.eps = config.positive_or({"layer_norm_epsilon"}, 1e-6);
  stack.dropout.attention = config.probability_or({"attn_dropout_prob"}, 0);
  stack.dropout.embedding = config.probability_or({"emb_dropout_prob"}, 0);
  read_vocabulary(config, out, stack, std::nullopt, false);
  out.max_positions = config.size_or({"seq_length", "max_position_embeddings"}, position_counts, 0);
  read_rotary(config, stack);
  stack.names.layers = "transformer.h";
  stack.names.attention = "attn";
  stack.names.qkv = "c_attn";
  stack.names.o = "c_proj";
  stack.names.gate = "w2";
  stack.names.up = "w1";
  stack.names.down = "c_proj";
  stack.names.first_norm = "ln_1";
  stack.names.second_norm = "ln_2";
  stack.names.embedding = "transformer.wte";
  stack.names.final_norm = "transformer.ln_f";
}

}  // namespace headroom::estimate
