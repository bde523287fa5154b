// SPDX-License-Identifier: Apache-2.0
// Encoders of images beside ViT: DeiT, DINOv2 without and with registers, SigLIP's tower. Without a
// task in the config's "architectures" each is the encoder alone. Sources: transformers,
// models/{deit,dinov2,dinov2_with_registers,siglip}.
#include <fmt/format.h>

#include "estimate/models/config_parts.h"
#include "estimate/models/families.h"
#include "estimate/models/vision.h"

namespace headroom::estimate {
namespace {

bool is_task(ConfigReader& config, std::string_view end) {
  const auto names = config.texts("architectures");
  return !names.empty() && names.front().ends_with(end);
}

// What is planned of such a family: the encoder, or a classifier on it.
void refuse_other_tasks(ConfigReader& config) {
  const auto names = config.texts("architectures");
  if (names.empty() || names.front().ends_with("ForImageClassification")) return;
  if (names.front().ends_with("Model")) return;
  config.fail("architectures", "the model alone, or ...ForImageClassification", Errc::unsupported);
}

void set_names(ModuleNames& names) {
  names.layers = "encoder.layer";
  names.attention = "attention";
  names.first_norm = "norm1";
  names.second_norm = "norm2";
  names.up = "fc1";
  names.down = "fc2";
  names.embedding = "embeddings.patch_embeddings.projection";
  names.positions = "embeddings.position_embeddings";
  names.final_norm = "layernorm";
  names.head = "classifier";
}

}  // namespace

void parse_deit(ConfigReader& config, Architecture& out) {
  refuse_other_tasks(config);
  Stack& stack = add_tower(config, out, {.eps = 1e-12});
  set_position_rows(stack, true, 1);
  stack.input.extra_tokens = 1;
  stack.input.extra_have_positions = true;
  set_bias(stack.attention, config.flag_or({"qkv_bias"}, true), true);
  stack.input.own_type = true;
  stack.dropout.embedding = stack.dropout.residual =
      config.probability_or({"hidden_dropout_prob"}, 0);
  out.head.kind = Head::Kind::none;
  set_names(stack.names);
  stack.names.layers = "layers";
  stack.names.first_norm = "layernorm_before";
  stack.names.second_norm = "layernorm_after";
  if (is_task(config, "DeiTModel")) {
    out.head.kind = Head::Kind::pooler;
    out.head.bias = true;
  }
}

void parse_dinov2(ConfigReader& config, Architecture& out) {
  refuse_other_tasks(config);
  Stack& stack = add_tower(config, out, {.patch = 14});
  if (!config.has("mlp_ratio")) stack.mlp.intermediate = 4 * stack.hidden;
  set_position_rows(stack, true);
  set_bias(stack.attention, config.flag_or({"qkv_bias"}, true), true);
  stack.attention.narrow_softmax = true;
  stack.layer_scale = true;
  stack.drop_path = config.probability_or({"drop_path_rate"}, 0);
  stack.input.own_type = true;
  stack.input.mask_token = config.flag_or({"use_mask_token"}, true);
  stack.dropout.embedding = config.probability_or({"hidden_dropout_prob"}, 0);
  if (config.flag_or({"use_swiglu_ffn"}, false)) {  // Two thirds, rounded up to a multiple of 8.
    stack.mlp.gated = true;
    stack.mlp.activation = Activation::silu;
    stack.mlp.intermediate = (stack.mlp.intermediate * 2 / 3 + 7) / 8 * 8;
  }
  out.head.kind = Head::Kind::none;
  out.head.pooling = Head::Pooling::first_and_mean;
  set_names(stack.names);
  if (stack.mlp.gated) stack.names.up = "up_proj", stack.names.down = "down_proj";
}

void parse_dinov2_with_registers(ConfigReader& config, Architecture& out) {
  parse_dinov2(config, out);
  Stack& stack = out.stacks.back();
  stack.input.mask_token = true;
  stack.input.extra_tokens = config.size_or({"num_register_tokens"}, {0, widths.max}, 4);
}

// The tower alone, with the head of its own that pools by attention unless the file says otherwise.
void parse_siglip_vision(ConfigReader& config, Architecture& out) {
  Stack& stack = add_siglip_tower(config, out);
  stack.input.own_type = true;
  stack.input.named = Input::Named::nothing;
  out.head.kind = Head::Kind::none;
  out.head.pooling = Head::Pooling::mean;
  out.head.attention_pooling = config.flag_or({"vision_use_head"}, true);
}

// Classifying images takes the tower alone. Both towers and their agreement are not known.
void parse_siglip(ConfigReader& config, Architecture& out) {
  if (!is_task(config, "ForImageClassification")) {
    config.fail("architectures",
                "SiglipForImageClassification (or the tower alone, "
                "model_type siglip_vision_model)",
                Errc::unsupported);
    return;
  }
  ConfigReader vision = config.inner("vision_config");
  parse_siglip_vision(vision, out);
}

}  // namespace headroom::estimate
