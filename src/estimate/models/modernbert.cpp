// SPDX-License-Identifier: Apache-2.0
// ModernBERT: an encoder with rotary positions, LayerNorm without bias before each half, gated MLPs
// and, in two layers of three, a window. Source: transformers, models/modernbert.
#include "estimate/models/families.h"
#include "estimate/models/llama.h"

namespace headroom::estimate {
namespace {

ModuleNames modernbert_names() {
  ModuleNames names;
  names.attention = "attn";
  names.qkv = "Wqkv";
  names.o = "Wo";
  names.gate_up = "Wi";
  names.down = "Wo";
  names.first_norm = "attn_norm";
  names.second_norm = "mlp_norm";
  names.embedding = "model.embeddings.tok_embeddings";
  names.final_norm = "model.final_norm";
  names.head = "decoder";
  return names;
}

}  // namespace

void parse_modernbert(ConfigReader& config, Architecture& out) {
  Stack& stack = out.stacks.emplace_back();
  stack.role = Stack::Role::encoder;
  stack.causal = false;
  stack.hidden = config.size({"hidden_size"}, widths, 768);
  stack.layers = config.size({"num_hidden_layers"}, layer_counts, 22);
  stack.attention =
      read_heads(config, stack.hidden, {.kv_heads = {}, .head_dim = {}}, {.heads = 12});
  const bool bias = config.flag_or({"attention_bias"}, false);
  set_bias(stack.attention, bias, bias);
  stack.attention.fused_qkv = true;
  stack.mlp.intermediate = config.size({"intermediate_size"}, widths, 1152);
  stack.mlp.fused_gate_up = true;
  stack.mlp.bias = config.flag_or({"mlp_bias"}, false);
  stack.mlp.activation = config.activation_or({"hidden_activation"}, Activation::gelu);
  stack.norm = {NormKind::layer, config.flag_or({"norm_bias"}, false),
                config.positive_or({"norm_eps"}, 1e-5)};
  stack.first_norm_skipped = true;
  stack.input.norm = true;
  stack.input.named = Input::Named::nothing;
  stack.dropout.embedding = config.probability_or({"embedding_dropout"}, 0);
  stack.dropout.attention = config.probability_or({"attention_dropout"}, 0);
  stack.dropout.activation = config.probability_or({"mlp_dropout"}, 0);
  read_vocabulary(config, out, stack, 50368, /*tied=*/true);
  out.max_positions = config.size_or({"max_position_embeddings"}, position_counts, 8192);
  read_rotary(config, stack);
  const std::uint64_t every = config.size_or({"global_attn_every_n_layers"}, layer_counts, 3);
  const std::uint64_t window = config.size_or({"local_attention"}, position_counts, 128);
  for (std::uint64_t layer = 0; layer < stack.layers; ++layer)
    stack.windows.push_back(layer % every == 0 ? 0 : window);
  out.head.kind = Head::Kind::pooler;
  out.head.bias = true;
  out.head.transform_bias = false;
  out.head.transforms_classes = true;
  stack.names = modernbert_names();
}

}  // namespace headroom::estimate
