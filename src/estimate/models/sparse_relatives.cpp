// SPDX-License-Identifier: Apache-2.0
// Mixtures of experts whose routers, experts or attention are their own: gpt-oss, GraniteMoE,
// GraniteMoE with a shared expert, and Phi-3.5-MoE. Sources: transformers,
// models/{gpt_oss,granitemoe,granitemoeshared,phimoe}.
#include "base/document.h"
#include "estimate/models/families.h"
#include "estimate/models/llama.h"

namespace headroom::estimate {
namespace {

// intermediate_size is that of one expert; every layer has them.
Experts& add_experts(ConfigReader& config, Stack& stack, std::uint64_t count,
                     std::uint64_t per_token, Routing routing) {
  Experts& experts = stack.experts.emplace();
  experts.count = config.size_or({"num_local_experts", "num_experts"}, expert_counts, count);
  experts.per_token =
      config.size_or({"num_experts_per_tok", "experts_per_token"}, {1, experts.count}, per_token);
  experts.intermediate = stack.mlp.intermediate;
  experts.routing = routing;
  return experts;
}

}  // namespace

// Every other layer looks back at sliding_window tokens. Norms multiply in fp32.
void parse_gpt_oss(ConfigReader& config, Architecture& out) {
  Stack& stack = add_llama_stack(config, out,
                                 {.hidden = 2880,
                                  .intermediate = 2880,
                                  .layers = 36,
                                  .vocabulary = 201088,
                                  .heads = {64, 8, 64},
                                  .positions = 131072,
                                  .eps = 1e-5});
  const bool bias = config.flag_or({"attention_bias"}, true);
  set_bias(stack.attention, bias, bias);
  stack.attention.sinks = true;
  stack.attention.half_angles = true;
  stack.norm.wide_weight = true;
  Experts& experts = add_experts(config, stack, 128, 4, Routing::softmax_of_best);
  experts.bias = experts.clamped = true;
  stack.names.router = "mlp.router";
  read_windows(config, stack, 128, [](std::uint64_t layer) { return layer % 2 == 0; });
}

void parse_granite_moe(ConfigReader& config, Architecture& out) {
  Stack& stack = add_llama_stack(config, out, {.heads = {32, std::nullopt, std::nullopt}});
  const bool bias = config.flag_or({"attention_bias"}, false);
  set_bias(stack.attention, bias, bias);
  stack.input.scaled = stack.residual_scaled = out.head.scaled = true;
  const Json* count = config.find({"num_local_experts"});
  if (count != nullptr && *count == 0) return;  // Granite 4's small ones.
  add_experts(config, stack, 8, 2, Routing::wide_softmax_of_best);
  stack.names.router = "block_sparse_moe.router";
  stack.names.experts = "block_sparse_moe.experts";
}

void parse_granite_moe_shared(ConfigReader& config, Architecture& out) {
  parse_granite_moe(config, out);
  Stack& stack = out.stacks.back();
  if (!stack.experts) return config.fail("num_local_experts", "a number above 0");
  Experts& experts = *stack.experts;
  experts.shared_intermediate = config.size_or({"shared_intermediate_size"}, {0, widths.max}, 0);
  experts.shared_gate = false;
  experts.shared_fused = true;
  stack.names.shared_expert = "shared_mlp";
  stack.names.gate_up = "input_linear";
}

// LayerNorms in the place of Llama's, and a bias on the head.
void parse_phimoe(ConfigReader& config, Architecture& out) {
  Stack& stack = add_llama_stack(config, out,
                                 {.intermediate = 6400,
                                  .vocabulary = 32064,
                                  .heads = {32, 8, std::nullopt},
                                  .positions = 131072,
                                  .eps = 1e-5});
  const bool bias = config.flag_or({"attention_bias"}, false);
  set_bias(stack.attention, bias, bias);
  stack.norm = layer_norm(config, {"rms_norm_eps"});
  out.head.bias = config.flag_or({"lm_head_bias"}, false);
  add_experts(config, stack, 16, 2, Routing::sparse_mixer);
  stack.names.router = "mlp.router";
  if (!config.is_null("sliding_window"))
    read_windows(config, stack, std::nullopt, [](std::uint64_t) { return true; });
}

}  // namespace headroom::estimate
