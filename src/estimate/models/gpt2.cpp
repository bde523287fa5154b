// SPDX-License-Identifier: Apache-2.0
// GPT-2, StarCoder (gpt_bigcode) and GPT-J, which share the names of their keys. GPT-2's matrices
// are Conv1D, [in, out]: as many elements. Sources: transformers,
// models/{gpt2,gpt_bigcode,gptj}/configuration_*.py.
#include "estimate/models/families.h"
#include "estimate/models/llama.h"

namespace headroom::estimate {
namespace {

// What the three have in common.
Stack& add_gpt_stack(ConfigReader& config, Architecture& out, double dropout) {
  Stack& stack = out.stacks.emplace_back();
  stack.hidden = config.size({"n_embd", "hidden_size"}, widths, 768);
  stack.layers = config.size({"n_layer", "num_hidden_layers"}, layer_counts, 12);
  stack.attention = read_heads(
      config, stack.hidden,
      {.heads = {"n_head", "num_attention_heads"}, .kv_heads = {}, .head_dim = {}}, {.heads = 12});
  stack.mlp.intermediate =
      config.size_or({"n_inner", "intermediate_size"}, widths, 4 * stack.hidden);
  stack.mlp.gated = false;
  stack.mlp.bias = true;
  stack.mlp.activation = config.activation_or({"activation_function"}, Activation::gelu_new);
  stack.norm = layer_norm(config, {"layer_norm_epsilon"});
  stack.dropout.embedding = config.probability_or({"embd_pdrop"}, dropout);
  stack.dropout.attention = config.probability_or({"attn_pdrop"}, dropout);
  stack.dropout.residual = config.probability_or({"resid_pdrop"}, dropout);
  out.max_positions =
      config.size({"n_positions", "n_ctx", "max_position_embeddings"}, position_counts, 1024);
  ModuleNames& names = stack.names;
  names.layers = "transformer.h";
  names.attention = "attn";
  names.first_norm = "ln_1";
  names.second_norm = "ln_2";
  names.embedding = "transformer.wte";
  names.positions = "transformer.wpe";
  names.final_norm = "transformer.ln_f";
  return stack;
}

Stack& add_gpt2_stack(ConfigReader& config, Architecture& out) {
  Stack& stack = add_gpt_stack(config, out, 0.1);
  read_vocabulary(config, out, stack, 50257, /*tied=*/true);
  set_bias(stack.attention, true, true);
  stack.attention.fused_qkv = true;
  stack.positions = Positions::learned;
  stack.position_rows = out.max_positions;
  stack.mask_buffers = {/*each_layer=*/true, out.max_positions, 5, 0};
  stack.names.qkv = "c_attn";
  stack.names.o = "c_proj";
  stack.names.up = "c_fc";
  stack.names.down = "c_proj";
  return stack;
}

}  // namespace

void parse_gpt2(ConfigReader& config, Architecture& out) {
  add_gpt2_stack(config, out);
  if (config.flag_or({"add_cross_attention"}, false)) {
    config.fail("add_cross_attention", "false", Errc::unsupported);
  }
}

// All heads share one k and one v, unless multi_query says otherwise.
void parse_gpt_bigcode(ConfigReader& config, Architecture& out) {
  Stack& stack = add_gpt2_stack(config, out);
  stack.mlp.activation = config.activation_or({"activation_function"}, Activation::gelu_tanh);
  if (config.flag_or({"multi_query"}, true)) stack.attention.kv_heads = 1;
}

void parse_gptj(ConfigReader& config, Architecture& out) {
  Stack& stack = add_gpt_stack(config, out, 0.0);
  read_vocabulary(config, out, stack, 50400, /*tied=*/false);
  out.head.bias = true;
  stack.placement = NormPlacement::parallel_one;
  read_rotary(config, stack);
  const std::uint64_t turned =
      config.size_or({"rotary_dim"}, {1, stack.attention.head_dim}, stack.attention.head_dim);
  stack.attention.rotary_part =
      static_cast<double>(turned) / static_cast<double>(stack.attention.head_dim);
  stack.attention.wide_scores = true;
  stack.names.o = "out_proj";
  stack.names.up = "fc_in";
  stack.names.down = "fc_out";
}

}  // namespace headroom::estimate
