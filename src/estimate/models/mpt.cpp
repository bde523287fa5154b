// SPDX-License-Identifier: Apache-2.0
// MPT: no bias anywhere, also not in its LayerNorms, and ALiBi. Source: transformers, models/mpt.
#include "estimate/models/families.h"
#include "estimate/models/llama.h"

namespace headroom::estimate {

void parse_mpt(ConfigReader& config, Architecture& out) {
  Stack& stack = out.stacks.emplace_back();
  stack.hidden = config.size({"d_model", "hidden_size"}, widths);
  stack.layers = config.size({"n_layers", "num_hidden_layers"}, layer_counts);
  stack.attention =
      read_heads(config, stack.hidden,
                 {.heads = {"n_heads", "num_attention_heads"}, .kv_heads = {}, .head_dim = {}});
  stack.attention.fused_qkv = true;
  ConfigReader attention = config.inner("attn_config");
  stack.dropout.attention = attention.probability_or({"attn_pdrop"}, 0);
  if (!attention.flag_or({"alibi"}, true)) attention.fail("alibi", "true", Errc::unsupported);
  if (!config.flag_or({"no_bias"}, true)) config.fail("no_bias", "true", Errc::unsupported);
  stack.mlp.intermediate = stack.hidden * config.size_or({"expansion_ratio"}, {1, 64}, 4);
  stack.mlp.gated = false;
  stack.mlp.activation = Activation::gelu;
  stack.norm = layer_norm(config, {"layer_norm_epsilon"});
  stack.norm.bias = false;
  stack.dropout.residual = config.probability_or({"resid_pdrop"}, 0);
  stack.positions = Positions::alibi;
  stack.attention.wide_positions = true;
  read_vocabulary(config, out, stack, std::nullopt, /*tied=*/true);
  out.max_positions = config.size_or({"max_seq_len"}, position_counts, 2048);
  ModuleNames& names = stack.names;
  names.layers = "transformer.blocks";
  names.attention = "attn";
  names.qkv = "Wqkv";
  names.o = "out_proj";
  names.mlp = "ffn";
  names.first_norm = "norm_1";
  names.second_norm = "norm_2";
  names.embedding = "transformer.wte";
  names.final_norm = "transformer.norm_f";
}

}  // namespace headroom::estimate
