// SPDX-License-Identifier: Apache-2.0
// A transformer given by numbers alone, for models that have no config.json: layers as
// torch.nn.TransformerEncoderLayer makes them (torch/nn/modules/transformer.py), with its names for
// the keys beside Hugging Face's. Steps are tokens (vocab_size) or rows of `features` numbers.
#include "estimate/models/families.h"
#include "estimate/models/llama.h"

namespace headroom::estimate {
namespace {

void read_input_and_output(ConfigReader& config, Architecture& out, Stack& stack) {
  const bool tokens = config.has("vocab_size");
  if (tokens) {
    read_vocabulary(config, out, stack, std::nullopt, /*tied=*/false);
    out.head.plain_loss = true;
    out.head.bias = config.flag_or({"head_bias"}, true);
  } else {
    stack.input.kind = Input::Kind::numbers;
    if (!config.has("features")) {
      config.fail("features", "how many numbers a step has (or vocab_size, if steps are tokens)");
    }
    stack.input.features = config.size_or({"features"}, widths, 1);
  }
  if (tokens && !config.has("outputs")) return;
  out.head = {};
  out.head.kind = Head::Kind::numbers;
  out.head.bias = true;
  out.head.width = config.size_or({"outputs"}, widths, stack.input.features);
}

}  // namespace

void parse_transformer(ConfigReader& config, Architecture& out) {
  Stack& stack = out.stacks.emplace_back();
  stack.role = Stack::Role::encoder;
  stack.hidden = stack.input.width = config.size({"hidden_size", "d_model"}, widths);
  stack.layers = config.size({"num_hidden_layers", "num_layers"}, layer_counts);
  stack.attention =
      read_heads(config, stack.hidden,
                 {.heads = {"num_attention_heads", "nhead", "num_heads"}, .head_dim = {}});
  if (stack.hidden % stack.attention.heads != 0) {
    config.fail_with("hidden_size", "expected a multiple of num_attention_heads = " +
                                        std::to_string(stack.attention.heads) + ", found " +
                                        std::to_string(stack.hidden));
  }
  stack.mlp.intermediate =
      config.size_or({"intermediate_size", "dim_feedforward"}, widths, 4 * stack.hidden);
  stack.mlp.gated = false;
  stack.mlp.activation = config.activation_or({"activation", "hidden_act"}, Activation::relu);
  const bool bias = config.flag_or({"bias"}, true);
  set_bias(stack.attention, bias, bias);
  stack.attention.fused_qkv = stack.attention.multihead = true;
  stack.mlp.bias = bias;
  stack.norm = {NormKind::layer, bias, config.positive_or({"layer_norm_eps"}, 1e-5)};
  stack.placement =
      config.flag_or({"norm_first"}, false) ? NormPlacement::before : NormPlacement::after;
  stack.final_norm = config.flag_or({"final_norm"}, false);
  stack.causal = config.flag_or({"causal", "is_decoder"}, false);
  const double dropout = config.probability_or({"dropout"}, 0.1);
  stack.dropout = {0, dropout, dropout, dropout, 0};
  stack.positions = Positions::none;
  if (config.has("max_position_embeddings")) {
    stack.positions = Positions::learned;
    stack.position_rows = config.size({"max_position_embeddings"}, position_counts);
    out.max_positions = stack.position_rows;
  }
  read_input_and_output(config, out, stack);
  ModuleNames& names = stack.names;
  names.layers = "layers";
  names.qkv = "in_proj";
  names.o = "out_proj";
  names.mlp = "";
  names.up = "linear1";
  names.down = "linear2";
  names.first_norm = "norm1";
  names.second_norm = "norm2";
  names.embedding = "input";
  names.positions = "positions";
  names.final_norm = "norm";
  names.head = "output";
}

}  // namespace headroom::estimate
