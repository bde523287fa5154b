// SPDX-License-Identifier: Apache-2.0
// OPT: learned positions in a table with two rows more than positions, an embedding that may be
// narrower than the layers, and one size (350m) with its norms behind. Source: transformers,
// models/opt.
#include "estimate/models/families.h"
#include "estimate/models/llama.h"

namespace headroom::estimate {

void parse_opt(ConfigReader& config, Architecture& out) {
  Stack& stack = out.stacks.emplace_back();
  stack.hidden = config.size({"hidden_size", "d_model"}, widths, 768);
  stack.layers = config.size({"num_hidden_layers"}, layer_counts, 12);
  stack.attention =
      read_heads(config, stack.hidden, {.kv_heads = {}, .head_dim = {}}, {.heads = 12});
  stack.mlp.intermediate = config.size({"ffn_dim"}, widths, 3072);
  stack.mlp.gated = false;
  stack.mlp.activation = config.activation_or({"activation_function"}, Activation::relu);
  const bool bias = config.flag_or({"enable_bias"}, true);
  set_bias(stack.attention, bias, bias);
  stack.mlp.bias = bias;
  stack.norm = layer_norm(config, {"layer_norm_eps"});
  if (!config.flag_or({"layer_norm_elementwise_affine"}, true)) {
    config.fail("layer_norm_elementwise_affine", "true", Errc::unsupported);
  }
  const bool before = config.flag_or({"do_layer_norm_before"}, true);
  stack.placement = before ? NormPlacement::before : NormPlacement::after;
  stack.final_norm = before && !config.flag_or({"_remove_final_layer_norm"}, false);
  stack.dropout.residual = config.probability_or({"dropout"}, 0.1);
  stack.dropout.attention = config.probability_or({"attention_dropout"}, 0);
  out.max_positions = config.size({"max_position_embeddings"}, position_counts, 2048);
  stack.positions = Positions::learned;
  stack.position_rows = out.max_positions + 2;
  stack.input.positions_by_sample = true;
  read_vocabulary(config, out, stack, 50272, /*tied=*/true);
  stack.input.width = config.size_or({"word_embed_proj_dim"}, widths, stack.hidden);
  ModuleNames& names = stack.names;
  names.layers = "model.decoder.layers";
  names.o = "out_proj";
  names.mlp = "";
  names.up = "fc1";
  names.down = "fc2";
  names.first_norm = "self_attn_layer_norm";
  names.second_norm = "final_layer_norm";
  names.embedding = "model.decoder.embed_tokens";
  names.positions = "model.decoder.embed_positions";
  names.final_norm = "model.decoder.final_layer_norm";
}

}  // namespace headroom::estimate
