// SPDX-License-Identifier: Apache-2.0
// GPT-NeoX: Pythia, and the first StableLM. Source: transformers, models/gpt_neox.
#include "estimate/models/families.h"
#include "estimate/models/llama.h"

namespace headroom::estimate {

void parse_gpt_neox(ConfigReader& config, Architecture& out) {
  Stack& stack = add_llama_stack(config, out,
                                 {.hidden = 6144,
                                  .intermediate = 24576,
                                  .layers = 44,
                                  .vocabulary = 50432,
                                  .heads = {64, std::nullopt, std::nullopt},
                                  .positions = 2048,
                                  .rotary_part = 0.25});
  const bool bias = config.flag_or({"attention_bias"}, true);
  set_bias(stack.attention, bias, bias);
  stack.attention.fused_qkv = true;
  stack.mask_buffers = {/*each_layer=*/true, out.max_positions, 4, 50};
  stack.mlp.gated = false;
  stack.mlp.bias = true;
  stack.mlp.activation = config.activation_or({"hidden_act"}, Activation::gelu);
  stack.norm = layer_norm(config, {"layer_norm_eps"});
  stack.placement = config.flag_or({"use_parallel_residual"}, true) ? NormPlacement::parallel_two
                                                                    : NormPlacement::before;
  stack.dropout.embedding = stack.dropout.residual = config.probability_or({"hidden_dropout"}, 0);
  ModuleNames& names = stack.names;
  names.layers = "gpt_neox.layers";
  names.attention = "attention";
  names.qkv = "query_key_value";
  names.o = "dense";
  names.up = "dense_h_to_4h";
  names.down = "dense_4h_to_h";
  names.embedding = "gpt_neox.embed_in";
  names.final_norm = "gpt_neox.final_layer_norm";
  names.head = "embed_out";
}

}  // namespace headroom::estimate
