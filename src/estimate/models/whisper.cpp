// SPDX-License-Identifier: Apache-2.0
// Whisper and BART: an encoder and a decoder with learned positions and LayerNorm. Whisper hears
// mel frames and has no bias on k; BART has its norms behind and one on its embeddings; Pegasus has
// them in front. Sources: transformers, models/{whisper,bart,mbart,pegasus}.
#include "estimate/models/families.h"
#include "estimate/models/llama.h"

namespace headroom::estimate {
namespace {

// The keys of one side of the model.
struct Side {
  Stack::Role role = Stack::Role::encoder;
  Names layers;
  Names heads;
  Names intermediate;
  std::string prefix;  // Of its modules.
};

const Side encoder{Stack::Role::encoder,
                   {"encoder_layers"},
                   {"encoder_attention_heads"},
                   {"encoder_ffn_dim"},
                   "model.encoder."};
const Side decoder{Stack::Role::decoder,
                   {"decoder_layers"},
                   {"decoder_attention_heads"},
                   {"decoder_ffn_dim"},
                   "model.decoder."};

Stack& add_side(ConfigReader& config, Architecture& out, const Side& side) {
  Stack& stack = out.stacks.emplace_back();
  stack.role = side.role;
  stack.causal = stack.cross_attention = side.role == Stack::Role::decoder;
  stack.hidden = stack.input.width = config.size({"d_model", "hidden_size"}, widths);
  stack.layers = config.size(side.layers, layer_counts);
  stack.attention =
      read_heads(config, stack.hidden, {.heads = side.heads, .kv_heads = {}, .head_dim = {}});
  set_bias(stack.attention, true, true);
  stack.mlp.intermediate = config.size_or(side.intermediate, widths, 4 * stack.hidden);
  stack.mlp.gated = false;
  stack.mlp.bias = true;
  stack.mlp.activation = config.activation_or({"activation_function"}, Activation::gelu);
  stack.norm = {NormKind::layer, /*bias=*/true, 1e-5};
  stack.positions = Positions::learned;
  stack.input.scaled = config.flag_or({"scale_embedding"}, false);
  stack.dropout.attention = config.probability_or({"attention_dropout"}, 0);
  stack.dropout.activation = config.probability_or({"activation_dropout"}, 0);
  ModuleNames& names = stack.names;
  names.layers = side.prefix + "layers";
  names.o = "out_proj";
  names.mlp = "";
  names.up = "fc1";
  names.down = "fc2";
  names.first_norm = "self_attn_layer_norm";
  names.second_norm = "final_layer_norm";
  names.embedding = side.prefix + "embed_tokens";
  names.positions = side.prefix + "embed_positions";
  names.final_norm = side.prefix + "layer_norm";
  return stack;
}

void set_dropout(Stack& stack, double dropout) {
  stack.dropout.embedding = stack.dropout.residual = dropout;
}

}  // namespace

void parse_whisper(ConfigReader& config, Architecture& out) {
  const double dropout = config.probability_or({"dropout"}, 0);
  Stack& ear = add_side(config, out, encoder);
  ear.attention.k_bias = false;
  ear.attention.heads_first = true;
  ear.input.kind = Input::Kind::audio;
  ear.input.mel_bins = config.size_or({"num_mel_bins"}, pixel_counts, 80);
  ear.input.scaled = false;  // Only the decoder's words are.
  ear.positions = Positions::sinusoidal;
  ear.position_rows = config.size_or({"max_source_positions"}, position_counts, 1500);
  ear.names.embedding = "model.encoder.conv1";
  set_dropout(ear, dropout);

  Stack& mouth = add_side(config, out, decoder);
  mouth.attention.k_bias = false;
  mouth.attention.heads_first = true;
  mouth.position_rows = config.size_or({"max_target_positions"}, position_counts, 448);
  mouth.names.head = "proj_out";
  set_dropout(mouth, dropout);
  read_vocabulary(config, out, mouth, std::nullopt, /*tied=*/true);
  out.head.plain_loss = true;
  out.max_positions = mouth.position_rows;
}

// Positions begin at 2, so the tables have two rows more.
void parse_bart(ConfigReader& config, Architecture& out) {
  const bool multilingual = config.text_or({"model_type"}, "bart") == "mbart";
  const double dropout = config.probability_or({"dropout"}, 0.1);
  out.max_positions = config.size({"max_position_embeddings"}, position_counts);
  for (const Side& side : {encoder, decoder}) {
    Stack& stack = add_side(config, out, side);
    stack.position_rows = out.max_positions + 2;
    stack.input.norm = true;
    stack.placement = multilingual ? NormPlacement::before : NormPlacement::after;
    stack.final_norm = multilingual;
    set_dropout(stack, dropout);
  }
  read_vocabulary(config, out, out.stacks.back(), std::nullopt, /*tied=*/true);
  out.shared_embedding = true;
  out.head.plain_loss = out.head.offset = true;
}

// Frozen sinusoidal positions, norms in front, none on the embeddings.
void parse_pegasus(ConfigReader& config, Architecture& out) {
  const double dropout = config.probability_or({"dropout"}, 0.1);
  out.max_positions = config.size({"max_position_embeddings"}, position_counts);
  for (const Side& side : {encoder, decoder}) {
    Stack& stack = add_side(config, out, side);
    stack.positions = Positions::sinusoidal;
    stack.position_rows = out.max_positions;
    stack.attention.narrow_softmax = true;
    set_dropout(stack, dropout);
  }
  read_vocabulary(config, out, out.stacks.back(), std::nullopt, /*tied=*/true);
  out.shared_embedding = true;
  out.head.plain_loss = out.head.offset = true;
}

}  // namespace headroom::estimate
