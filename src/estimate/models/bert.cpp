// SPDX-License-Identifier: Apache-2.0
// BERT, RoBERTa, ELECTRA, ERNIE and DistilBERT: an encoder with its norms behind and one on its
// embeddings. Without a task in the config's "architectures" it is the bare model, with its pooler
// where it has one. Sources: transformers, models/{bert,roberta,electra,ernie,distilbert}.
#include <fmt/format.h>

#include "estimate/models/families.h"
#include "estimate/models/llama.h"

namespace headroom::estimate {
namespace {

void set_encoder(Stack& stack) {
  stack.role = Stack::Role::encoder;
  stack.causal = false;
  set_bias(stack.attention, true, true);
  stack.mlp.gated = false;
  stack.mlp.bias = true;
  stack.placement = NormPlacement::after;
  stack.final_norm = false;
  stack.positions = Positions::learned;
  stack.input.norm = true;
  stack.input.named = Input::Named::whole;
}

ModuleNames bert_names() {
  ModuleNames names;
  names.layers = "encoder.layer";
  names.attention = "attention";
  names.q = "self.query";
  names.k = "self.key";
  names.v = "self.value";
  names.o = "output.dense";
  names.mlp = "";
  names.up = "intermediate.dense";
  names.down = "output.dense";
  names.first_norm = "attention.output.LayerNorm";
  names.second_norm = "output.LayerNorm";
  names.embedding = "embeddings.word_embeddings";
  names.positions = "embeddings.position_embeddings";
  names.head = "cls.predictions.decoder";
  return names;
}

}  // namespace

void parse_bert(ConfigReader& config, Architecture& out) {
  Stack& stack = out.stacks.emplace_back();
  stack.hidden = config.size({"hidden_size"}, widths, 768);
  stack.layers = config.size({"num_hidden_layers"}, layer_counts, 12);
  stack.attention =
      read_heads(config, stack.hidden, {.kv_heads = {}, .head_dim = {}}, {.heads = 12});
  set_encoder(stack);
  stack.mlp.names_inner = true;
  stack.mlp.intermediate = config.size({"intermediate_size"}, widths, 3072);
  stack.mlp.activation = config.activation_or({"hidden_act"}, Activation::gelu);
  stack.norm = layer_norm(config, {"layer_norm_eps"}, 1e-12);
  stack.input.type_rows = config.size_or({"type_vocab_size"}, {0, vocabularies.max}, 2);
  stack.dropout.embedding = stack.dropout.residual =
      config.probability_or({"hidden_dropout_prob"}, 0.1);
  stack.dropout.attention = config.probability_or({"attention_probs_dropout_prob"}, 0.1);
  read_vocabulary(config, out, stack, 30522, /*tied=*/true);
  stack.position_rows = config.size({"max_position_embeddings"}, position_counts, 512);
  out.max_positions = stack.position_rows;
  const std::string positions = config.text_or({"position_embedding_type"}, "absolute");
  if (positions != "absolute") {
    config.fail("position_embedding_type", "absolute", Errc::unsupported);
  }
  out.head.kind = Head::Kind::pooler;
  out.head.bias = true;
  stack.names = bert_names();
}

// Positions are counted from the row behind the padding's, so the first rows of the table are of no
// token (create_position_ids_from_input_ids in modeling_roberta.py); its config counts them in.
void parse_roberta(ConfigReader& config, Architecture& out) {
  parse_bert(config, out);
  const std::uint64_t unused = config.size_or({"pad_token_id"}, {0, vocabularies.max}, 1) + 1;
  if (out.max_positions > unused) {
    out.max_positions -= unused;
  } else if (!config.failed()) {
    config.fail("max_position_embeddings", fmt::format("more than {}", unused));
  }
}

// No pooler; an embedding that may be narrower, with all that is added to it.
void parse_electra(ConfigReader& config, Architecture& out) {
  parse_bert(config, out);
  Stack& stack = out.stacks.back();
  stack.input.width = config.size_or({"embedding_size"}, widths, 128);
  stack.input.projects_last = stack.input.width != stack.hidden;
  out.head = {};
  out.head.kind = Head::Kind::none;
  for (const std::string& name : config.texts("architectures"))
    if (name.ends_with("ForMaskedLM") || name.ends_with("ForPreTraining"))
      config.fail("architectures", "a head other than those of ELECTRA's first training",
                  Errc::unsupported);
}

void parse_ernie(ConfigReader& config, Architecture& out) {
  parse_bert(config, out);
  if (config.flag_or({"use_task_id"}, false))
    out.stacks.back().input.type_rows +=
        config.size_or({"task_type_vocab_size"}, {1, vocabularies.max}, 3);
}

void parse_distilbert(ConfigReader& config, Architecture& out) {
  Stack& stack = out.stacks.emplace_back();
  stack.hidden = config.size({"dim", "hidden_size"}, widths);
  stack.layers = config.size({"n_layers", "num_hidden_layers"}, layer_counts);
  stack.attention =
      read_heads(config, stack.hidden,
                 {.heads = {"n_heads", "num_attention_heads"}, .kv_heads = {}, .head_dim = {}});
  set_encoder(stack);
  stack.mlp.intermediate = config.size_or({"hidden_dim"}, widths, 4 * stack.hidden);
  stack.mlp.activation = config.activation_or({"activation"}, Activation::gelu);
  stack.norm = {NormKind::layer, /*bias=*/true, 1e-12};
  stack.dropout.embedding = stack.dropout.residual = config.probability_or({"dropout"}, 0.1);
  stack.dropout.after_attention = false;
  stack.dropout.attention = config.probability_or({"attention_dropout"}, 0.1);
  read_vocabulary(config, out, stack, std::nullopt, /*tied=*/true);
  out.max_positions = config.size_or({"max_position_embeddings"}, position_counts, 512);
  stack.position_rows = out.max_positions;
  out.head.kind = Head::Kind::none;
  ModuleNames& names = stack.names;
  names.layers = "transformer.layer";
  names.attention = "attention";
  names.q = "q_lin";
  names.k = "k_lin";
  names.v = "v_lin";
  names.o = "out_lin";
  names.mlp = "ffn";
  names.up = "lin1";
  names.down = "lin2";
  names.first_norm = "sa_layer_norm";
  names.second_norm = "output_layer_norm";
  names.embedding = "embeddings.word_embeddings";
  names.positions = "embeddings.position_embeddings";
  names.head = "vocab_projector";
}

}  // namespace headroom::estimate
