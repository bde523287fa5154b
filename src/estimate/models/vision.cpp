// SPDX-License-Identifier: Apache-2.0
// ViT and the towers of SigLIP and CLIP. Sources: transformers, models/{vit,siglip,clip}.
#include "estimate/models/vision.h"

#include "estimate/models/config_parts.h"
#include "estimate/models/families.h"

namespace headroom::estimate {
namespace {

// DINOv2 says how many times wider than the layers their MLP is.
std::uint64_t inner_by_ratio(ConfigReader& config, std::uint64_t hidden) {
  constexpr double ratio_max = 64;
  const double ratio = config.positive_or({"mlp_ratio"}, 4);
  if (ratio <= ratio_max) return static_cast<std::uint64_t>(static_cast<double>(hidden) * ratio);
  config.fail("mlp_ratio", "a number of at most 64");
  return 1;
}

}  // namespace

Stack& add_tower(ConfigReader& config, Architecture& out, const TowerDefaults& defaults) {
  Stack& stack = out.stacks.emplace_back();
  stack.role = Stack::Role::vision;
  stack.causal = false;
  stack.hidden = stack.input.width = config.size({"hidden_size"}, widths, 768);
  stack.layers = config.size({"num_hidden_layers"}, layer_counts, 12);
  stack.attention =
      read_heads(config, stack.hidden, {.kv_heads = {}, .head_dim = {}}, {.heads = 12});
  set_bias(stack.attention, true, true);
  stack.mlp.intermediate = config.has("mlp_ratio")
                               ? inner_by_ratio(config, stack.hidden)
                               : config.size({"intermediate_size"}, widths, 3072);
  stack.mlp.gated = false;
  stack.mlp.bias = true;
  stack.mlp.activation = config.activation_or({"hidden_act"}, defaults.activation);
  stack.norm = layer_norm(config, {"layer_norm_eps"}, defaults.eps);
  stack.dropout.attention =
      config.probability_or({"attention_dropout", "attention_probs_dropout_prob"}, 0);
  stack.positions = Positions::learned;
  stack.input.kind = Input::Kind::patches;
  stack.input.named = Input::Named::whole;
  stack.input.channels = config.size_or({"num_channels"}, {1, 1024}, 3);
  stack.input.image_size = config.size_or({"image_size"}, pixel_counts, 224);
  stack.input.patch_size =
      config.size_or({"patch_size"}, {1, stack.input.image_size}, defaults.patch);
  return stack;
}

void set_position_rows(Stack& stack, bool class_token, std::uint64_t more) {
  stack.input.class_token = class_token;
  stack.position_rows = stack.input.patches() + (class_token ? 1 : 0) + more;
}

Stack& add_siglip_tower(ConfigReader& config, Architecture& out) {
  Stack& stack = add_tower(config, out, {.activation = Activation::gelu_tanh});
  set_position_rows(stack, false);
  ModuleNames& names = stack.names;
  names.layers = "model.vision_tower.vision_model.encoder.layers";
  names.o = "out_proj";
  names.up = "fc1";
  names.down = "fc2";
  names.first_norm = "layer_norm1";
  names.second_norm = "layer_norm2";
  names.embedding = "model.vision_tower.vision_model.embeddings.patch_embedding";
  names.positions = "model.vision_tower.vision_model.embeddings.position_embedding";
  names.final_norm = "model.vision_tower.vision_model.post_layernorm";
  return stack;
}

Stack& add_clip_tower(ConfigReader& config, Architecture& out) {
  Stack& stack =
      add_tower(config, out, {.patch = 32, .activation = Activation::quick_gelu, .eps = 1e-5});
  set_position_rows(stack, true);
  stack.input.patch_bias = false;
  stack.input.norm = true;
  ModuleNames& names = stack.names;
  names.layers = "vision_model.encoder.layers";
  names.o = "out_proj";
  names.up = "fc1";
  names.down = "fc2";
  names.first_norm = "layer_norm1";
  names.second_norm = "layer_norm2";
  names.embedding = "vision_model.embeddings.patch_embedding";
  names.positions = "vision_model.embeddings.position_embedding";
  names.final_norm = "vision_model.post_layernorm";
  return stack;
}

// Without a task in the config's "architectures": the encoder alone.
void parse_vit(ConfigReader& config, Architecture& out) {
  Stack& stack = add_tower(config, out, {.eps = 1e-12});
  set_position_rows(stack, true);
  const bool bias = config.flag_or({"qkv_bias"}, true);
  set_bias(stack.attention, bias, true);
  stack.input.own_type = true;
  stack.input.named = Input::Named::nothing;
  stack.dropout.embedding = stack.dropout.residual =
      config.probability_or({"hidden_dropout_prob"}, 0);
  out.head.kind = Head::Kind::none;
  ModuleNames& names = stack.names;
  names.layers = "encoder.layer";
  names.attention = "attention";
  names.q = "attention.query";
  names.k = "attention.key";
  names.v = "attention.value";
  names.o = "output.dense";
  names.mlp = "";
  names.up = "intermediate.dense";
  names.down = "output.dense";
  names.first_norm = "layernorm_before";
  names.second_norm = "layernorm_after";
  names.embedding = "embeddings.patch_embeddings.projection";
  names.positions = "embeddings.position_embeddings";
  names.final_norm = "layernorm";
  names.head = "classifier";
}

}  // namespace headroom::estimate
