// SPDX-License-Identifier: Apache-2.0
// T5, Flan-T5, mT5: an encoder and a decoder that share an embedding; no bias anywhere; heads whose
// sizes need not add up to the width. Source: transformers, models/t5.
#include "estimate/models/families.h"
#include "estimate/models/llama.h"

namespace headroom::estimate {
namespace {

// "relu", "gelu", or "gated-" and one of them; "gated-gelu" means gelu_new.
void read_feed_forward(ConfigReader& config, MlpShape& mlp, const char* class_default) {
  const std::string words = config.text_or({"feed_forward_proj"}, class_default);
  mlp.gated = words.starts_with("gated-");
  const std::string name = mlp.gated ? words.substr(6) : words;
  if (name == "relu") {
    mlp.activation = Activation::relu;
  } else if (name == "gelu") {
    mlp.activation = mlp.gated ? Activation::gelu_new : Activation::gelu;
  } else if (name == "silu" || name == "swish") {
    mlp.activation = Activation::silu;
  } else {
    config.fail("feed_forward_proj", "relu, gelu, silu, gated-gelu or gated-silu",
                Errc::unsupported);
  }
}

ModuleNames names_of(bool decoder, bool gated) {
  ModuleNames names;
  const std::string mlp = decoder ? "layer.2" : "layer.1";
  names.layers = decoder ? "decoder.block" : "encoder.block";
  names.attention = "layer.0.SelfAttention";
  names.q = "q";
  names.k = "k";
  names.v = "v";
  names.o = "o";
  names.mlp = mlp + ".DenseReluDense";
  names.gate = "wi_0";
  names.up = gated ? "wi_1" : "wi";
  names.down = "wo";
  names.first_norm = "layer.0.layer_norm";
  names.second_norm = mlp + ".layer_norm";
  names.cross_attention = "layer.1.EncDecAttention";
  names.cross_norm = "layer.1.layer_norm";
  names.embedding = "shared";
  names.final_norm = decoder ? "decoder.final_layer_norm" : "encoder.final_layer_norm";
  return names;
}

}  // namespace

void parse_t5(ConfigReader& config, Architecture& out) {
  const bool multilingual = config.text_or({"model_type"}, "t5") == "mt5";
  Stack stack;
  stack.role = Stack::Role::encoder;
  stack.causal = false;
  stack.hidden = config.size({"d_model", "hidden_size"}, widths, 512);
  stack.layers = config.size({"num_layers", "num_hidden_layers"}, layer_counts, 6);
  stack.attention = read_heads(
      config, stack.hidden,
      {.heads = {"num_heads", "num_attention_heads"}, .kv_heads = {}, .head_dim = {"d_kv"}},
      {.heads = 8, .head_dim = 64});
  stack.attention.relative = true;
  stack.mlp.intermediate = config.size({"d_ff"}, widths, multilingual ? 1024 : 2048);
  read_feed_forward(config, stack.mlp, multilingual ? "gated-gelu" : "relu");
  stack.norm.eps = config.positive_or({"layer_norm_epsilon"}, 1e-6);
  stack.norm.keeps_input = true;
  stack.positions = Positions::relative;
  stack.relative_buckets = config.size_or({"relative_attention_num_buckets"}, position_counts, 32);
  const double dropout = config.probability_or({"dropout_rate"}, 0.1);
  stack.dropout = {dropout, dropout, dropout, dropout, dropout};
  stack.names = names_of(false, stack.mlp.gated);
  read_vocabulary(config, out, stack, 32128, /*tied=*/!multilingual);
  out.stacks.push_back(stack);
  out.shared_embedding = true;
  out.head.input_scaled = out.head.tied;
  out.head.tied_since_5 = out.head.plain_loss = true;

  stack.role = Stack::Role::decoder;
  stack.causal = true;
  stack.cross_attention = true;
  stack.layers = config.size_or({"num_decoder_layers"}, layer_counts, stack.layers);
  stack.names = names_of(true, stack.mlp.gated);
  out.stacks.push_back(stack);
}

}  // namespace headroom::estimate
