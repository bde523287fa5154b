// SPDX-License-Identifier: Apache-2.0
// Phi (1, 1.5, 2), whose attention and MLP share one norm and run side by side, and Phi-3 and 4, a
// Llama with fused matrices. Sources: transformers, models/{phi,phi3}.
#include "estimate/models/families.h"
#include "estimate/models/llama.h"

namespace headroom::estimate {
namespace {

void read_dropout(ConfigReader& config, Dropout& dropout) {
  dropout.embedding = config.probability_or({"embd_pdrop"}, 0);
  dropout.residual = config.probability_or({"resid_pdrop"}, 0);
}

}  // namespace

void parse_phi(ConfigReader& config, Architecture& out) {
  Stack& stack = add_llama_stack(config, out,
                                 {.hidden = 2048,
                                  .intermediate = 8192,
                                  .layers = 24,
                                  .vocabulary = 51200,
                                  .rotary_part = 0.5});
  if (config.flag_or({"qk_layernorm"}, false)) {
    config.fail("qk_layernorm", "false (norms on q and k are not known of Phi)", Errc::unsupported);
  }
  stack.norm = layer_norm(config, {"layer_norm_eps"});
  stack.placement = NormPlacement::parallel_one;
  stack.mlp.gated = false;
  stack.mlp.bias = true;
  stack.mlp.activation = config.activation_or({"hidden_act"}, Activation::gelu_new);
  set_bias(stack.attention, true, true);
  out.head.bias = true;
  read_dropout(config, stack.dropout);
  stack.names.o = "dense";
  stack.names.up = "fc1";
  stack.names.down = "fc2";
  stack.names.final_norm = "model.final_layernorm";
}

void parse_phi3(ConfigReader& config, Architecture& out) {
  Stack& stack = add_llama_stack(
      config, out,
      {.hidden = 3072, .intermediate = 8192, .vocabulary = 32064, .positions = 4096, .eps = 1e-5});
  stack.attention.fused_qkv = true;
  stack.mlp.fused_gate_up = true;
  read_dropout(config, stack.dropout);
  read_windows(config, stack, std::nullopt, [](std::uint64_t) { return true; });
}

}  // namespace headroom::estimate
