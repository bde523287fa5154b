// SPDX-License-Identifier: Apache-2.0
// StableLM 2 and StarCoder 2: Llama with LayerNorm. Sources: transformers,
// models/{stablelm,starcoder2}.
#include "estimate/models/families.h"
#include "estimate/models/llama.h"

namespace headroom::estimate {

void parse_stablelm(ConfigReader& config, Architecture& out) {
  Stack& stack = add_llama_stack(config, out,
                                 {.hidden = 2560,
                                  .intermediate = 6912,
                                  .vocabulary = 50304,
                                  .heads = {32, 32, std::nullopt},
                                  .positions = 4096,
                                  .rotary_part = 0.25});
  if (config.flag_or({"qk_layernorm"}, false)) {
    config.fail("qk_layernorm", "false (a norm for each single head is not known)",
                Errc::unsupported);
  }
  set_bias(stack.attention, config.flag_or({"use_qkv_bias"}, false), false);
  stack.norm = layer_norm(config, {"layer_norm_eps"});
  stack.dropout.residual = config.probability_or({"hidden_dropout"}, 0);
  if (config.flag_or({"use_parallel_residual"}, false)) {
    stack.placement = NormPlacement::parallel_one;
  }
}

void parse_starcoder2(ConfigReader& config, Architecture& out) {
  Stack& stack = add_llama_stack(config, out,
                                 {.hidden = 3072,
                                  .intermediate = 12288,
                                  .layers = 30,
                                  .vocabulary = 49152,
                                  .heads = {24, 2, std::nullopt},
                                  .positions = 4096,
                                  .tied = true});
  const bool bias = config.flag_or({"use_bias"}, true);
  set_bias(stack.attention, bias, bias);
  stack.norm = layer_norm(config, {"norm_epsilon"});
  stack.mlp.gated = false;
  stack.mlp.bias = bias;
  stack.mlp.activation = config.activation_or({"hidden_act"}, Activation::gelu_tanh);
  stack.dropout.residual = config.probability_or({"residual_dropout"}, 0);
  stack.dropout.embedding = config.probability_or({"embedding_dropout"}, 0);
  stack.names.up = "c_fc";
  stack.names.down = "c_proj";
  read_windows(config, stack, std::nullopt, [](std::uint64_t) { return true; });
}

}  // namespace headroom::estimate
