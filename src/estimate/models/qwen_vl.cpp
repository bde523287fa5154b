// SPDX-License-Identifier: Apache-2.0
// Qwen2-VL and Qwen2.5-VL: a tower that sees images of any size, patch by patch, each image (or
// each window of one) by itself; squares of its rows are merged into one. Sources: transformers,
// models/{qwen2_vl,qwen2_5_vl}.
#include <algorithm>

#include "estimate/models/config_parts.h"
#include "estimate/models/families.h"

namespace headroom::estimate {
namespace {

// What the two have in common, beginning with the names of one and the other.
Stack& add_tower(ConfigReader& vision, Architecture& out, const Names& hidden) {
  Stack& stack = out.stacks.emplace_back();
  stack.role = Stack::Role::vision;
  stack.causal = false;
  stack.hidden = stack.input.width = vision.size(hidden, widths, 1280);
  stack.layers = vision.size({"depth"}, layer_counts, 32);
  stack.attention =
      read_heads(vision, stack.hidden, {.heads = {"num_heads"}, .kv_heads = {}, .head_dim = {}},
                 {.heads = 16});
  set_bias(stack.attention, true, true);
  stack.attention.fused_qkv = stack.attention.by_image = true;
  stack.mlp.bias = true;
  stack.positions = Positions::rotary;
  stack.final_norm = false;
  Input& input = stack.input;
  input.kind = Input::Kind::patches;
  input.own_type = true;
  input.patch_bias = false;
  input.channels = vision.size_or({"in_channels", "in_chans"}, {1, 1024}, 3);
  input.patch_size = vision.size_or({"patch_size", "spatial_patch_size"}, {1, 1024}, 14);
  input.frames = vision.size_or({"temporal_patch_size"}, {1, 64}, 2);
  input.merge = vision.size_or({"spatial_merge_size"}, {1, 64}, 2);
  ModuleNames& names = stack.names;
  names.layers = "model.visual.blocks";
  names.attention = "attn";
  names.qkv = "qkv";
  names.o = "proj";
  names.first_norm = "norm1";
  names.second_norm = "norm2";
  names.embedding = "model.visual.patch_embed.proj";
  return stack;
}

void add_merger(const Stack& tower, std::uint64_t out_width, Architecture& out) {
  Projector& merger = out.projector.emplace();
  merger.in = merger.inner = tower.hidden * tower.input.merge * tower.input.merge;
  merger.out = out_width;
  merger.bias = true;
  merger.norm = tower.norm;
  merger.norm_width = tower.hidden;
}

// Newer files keep the text's keys in a table of their own.
void add_text(ConfigReader& config, Architecture& out) {
  ConfigReader text = config.has("hidden_size") ? config : config.inner("text_config");
  parse_qwen2(text, out);
  out.stacks.back().angles_by_sample = true;
  out.head.tied = config.flag_or({"tie_word_embeddings"}, out.head.tied);
  if (!config.failed() && out.projector->out != out.main().hidden)
    config.fail("vision_config", "a tower that gives rows as wide as the text's");
}

}  // namespace

void parse_qwen2_vl(ConfigReader& config, Architecture& out) {
  ConfigReader vision = config.inner("vision_config");
  Stack& tower = add_tower(vision, out, {"embed_dim"});
  tower.mlp.gated = false;
  tower.mlp.activation = vision.activation_or({"hidden_act"}, Activation::quick_gelu);
  const double ratio = vision.positive_or({"mlp_ratio"}, 4);
  tower.mlp.intermediate =
      static_cast<std::uint64_t>(static_cast<double>(tower.hidden) * std::min(ratio, 1024.0));
  tower.norm = {NormKind::layer, /*bias=*/true, 1e-6};
  tower.names.up = "fc1";
  tower.names.down = "fc2";
  add_merger(tower, vision.size({"hidden_size"}, widths, 3584), out);
  add_text(config, out);
}

void parse_qwen2_5_vl(ConfigReader& config, Architecture& out) {
  ConfigReader vision = config.inner("vision_config");
  Stack& tower = add_tower(vision, out, {"hidden_size"});
  tower.mlp.activation = vision.activation_or({"hidden_act"}, Activation::silu);
  tower.mlp.intermediate = vision.size({"intermediate_size"}, widths, 3420);
  tower.input.reorders = true;
  const std::uint64_t side = vision.size_or({"window_size"}, pixel_counts, 112);
  const std::uint64_t merged = tower.input.merge * tower.input.patch_size;
  const std::vector<std::uint64_t> whole =
      vision.sizes_or("fullatt_block_indexes", {7, 15, 23, 31});
  for (std::uint64_t layer = 0; layer < tower.layers; ++layer) {
    const bool all = std::find(whole.begin(), whole.end(), layer) != whole.end();
    tower.windows.push_back(all ? 0 : std::max<std::uint64_t>(1, side / merged));
  }
  add_merger(tower, vision.size({"out_hidden_size"}, widths, 3584), out);
  add_text(config, out);
}

}  // namespace headroom::estimate
