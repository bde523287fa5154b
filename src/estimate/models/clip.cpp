// SPDX-License-Identifier: Apache-2.0
// CLIP: a text and a vision tower, each projected to a common width; and either tower alone, as
// image generators use it. Source: transformers, models/clip.
#include "estimate/models/families.h"
#include "estimate/models/llama.h"
#include "estimate/models/vision.h"

namespace headroom::estimate {
namespace {

void add_text_tower(ConfigReader& config, Architecture& out) {
  Stack& stack = out.stacks.emplace_back();
  stack.role = Stack::Role::text;
  stack.input.named = Input::Named::whole;
  stack.hidden = config.size({"hidden_size"}, widths, 512);
  stack.layers = config.size({"num_hidden_layers"}, layer_counts, 12);
  stack.attention =
      read_heads(config, stack.hidden, {.kv_heads = {}, .head_dim = {}}, {.heads = 8});
  set_bias(stack.attention, true, true);
  stack.mlp.intermediate = config.size({"intermediate_size"}, widths, 2048);
  stack.mlp.gated = false;
  stack.mlp.bias = true;
  stack.mlp.activation = config.activation_or({"hidden_act"}, Activation::quick_gelu);
  stack.norm = layer_norm(config, {"layer_norm_eps"});
  stack.dropout.attention = config.probability_or({"attention_dropout"}, 0);
  stack.positions = Positions::learned;
  stack.position_rows = config.size_or({"max_position_embeddings"}, position_counts, 77);
  out.max_positions = stack.position_rows;
  read_vocabulary(config, out, stack, 49408, /*tied=*/false);
  ModuleNames& names = stack.names;
  names.layers = "text_model.encoder.layers";
  names.o = "out_proj";
  names.up = "fc1";
  names.down = "fc2";
  names.first_norm = "layer_norm1";
  names.second_norm = "layer_norm2";
  names.embedding = "text_model.embeddings.token_embedding";
  names.positions = "text_model.embeddings.position_embedding";
  names.final_norm = "text_model.final_layer_norm";
}

// The towers' outputs are vectors of this width, unless nothing asks for them.
void set_projection(ConfigReader& config, Architecture& out, bool there) {
  out.head = {};
  out.head.kind = there ? Head::Kind::projection : Head::Kind::none;
  if (there) out.head.width = config.size_or({"projection_dim"}, widths, 512);
}

// "CLIPTextModelWithProjection", against "CLIPTextModel".
bool is_projected(ConfigReader& config) {
  const auto names = config.texts("architectures");
  return !names.empty() && names.front().ends_with("WithProjection");
}

}  // namespace

void parse_clip(ConfigReader& config, Architecture& out) {
  // Files of the first years have the values that count in text_config_dict.
  ConfigReader text =
      config.inner(config.has("text_config_dict") ? "text_config_dict" : "text_config");
  ConfigReader vision =
      config.inner(config.has("vision_config_dict") ? "vision_config_dict" : "vision_config");
  add_text_tower(text, out);
  add_clip_tower(vision, out);
  set_projection(config, out, true);
}

void parse_clip_text(ConfigReader& config, Architecture& out) {
  add_text_tower(config, out);
  set_projection(config, out, is_projected(config));
}

void parse_clip_vision(ConfigReader& config, Architecture& out) {
  add_clip_tower(config, out);
  set_projection(config, out, is_projected(config));
}

}  // namespace headroom::estimate
