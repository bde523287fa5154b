// SPDX-License-Identifier: Apache-2.0
// Decoders whose layers are of several kinds: linear attention beside attention (Qwen3-Next,
// Qwen3.5), convolutions beside it (LFM2). Sources: transformers,
// models/{qwen3_next,qwen3_5,qwen3_5_moe,lfm2}.
#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "estimate/models/families.h"
#include "estimate/models/llama.h"

namespace headroom::estimate {
namespace {

// `other` where layer_types says the first word, attention where it says full_attention.
void read_mixers(ConfigReader& config, Stack& stack, std::string_view word, Mixer other) {
  for (const std::size_t found :
       read_layer_words(config, "layer_types", stack.layers, {word, "full_attention"}))
    stack.mixers.push_back(found == 0 ? other : Mixer::attention);
}

void read_delta_net(ConfigReader& config, Stack& stack, bool joined) {
  DeltaNet& net = stack.delta_net.emplace();
  net.joined = joined;
  net.key_heads = config.size_or({"linear_num_key_heads"}, head_counts, 16);
  net.value_heads = config.size_or({"linear_num_value_heads"}, head_counts, 32);
  net.key_dim = config.size_or({"linear_key_head_dim"}, head_counts, 128);
  net.value_dim = config.size_or({"linear_value_head_dim"}, head_counts, 128);
  net.kernel = config.size_or({"linear_conv_kernel_dim"}, {1, 256}, 4);
  if (net.value_heads % net.key_heads != 0)
    config.fail_with("linear_num_value_heads",
                     fmt::format("expected a multiple of linear_num_key_heads = {}, found {}",
                                 net.key_heads, net.value_heads));
  if (config.has("layer_types")) {
    read_mixers(config, stack, "linear_attention", Mixer::delta_net);
    return;
  }
  const std::uint64_t interval = config.size_or({"full_attention_interval"}, layer_counts, 4);
  for (std::uint64_t layer = 0; layer < stack.layers; ++layer)
    stack.mixers.push_back((layer + 1) % interval == 0 ? Mixer::attention : Mixer::delta_net);
}

// Of all three: norms by 1 + weight, also of heads, and a gate beside each query.
Stack& add_delta_stack(ConfigReader& config, Architecture& out, const LlamaDefaults& defaults,
                       bool joined) {
  Stack& stack = add_llama_stack(config, out, defaults);
  const bool bias = config.flag_or({"attention_bias"}, false);
  set_bias(stack.attention, bias, bias);
  stack.attention.qk_norm = stack.attention.gated = true;
  stack.norm.unit_offset = true;
  if (!config.has("num_key_value_heads") && defaults.heads.kv_heads)
    stack.attention.kv_heads = std::min(*defaults.heads.kv_heads, stack.attention.heads);
  read_delta_net(config, stack, joined);
  return stack;
}

void read_sparse_half(ConfigReader& config, Stack& stack, const Experts& defaults) {
  read_qwen_experts(config, stack, defaults);
  stack.experts->shared_intermediate =
      config.size_or({"shared_expert_intermediate_size"}, widths, 512);
}

}  // namespace

void parse_qwen3_next(ConfigReader& config, Architecture& out) {
  Stack& stack = add_delta_stack(config, out,
                                 {.hidden = 2048,
                                  .intermediate = 5632,
                                  .layers = 48,
                                  .vocabulary = 151936,
                                  .heads = {16, 2, 256},
                                  .positions = 32768,
                                  .rotary_part = 0.25},
                                 /*joined=*/true);
  read_sparse_half(config, stack, {.count = 512, .per_token = 10, .intermediate = 512});
}

// Positions are those of text and images, a row for each sample.
void parse_qwen3_5(ConfigReader& config, Architecture& out) {
  Stack& stack = add_delta_stack(config, out,
                                 {.hidden = 4096,
                                  .intermediate = 12288,
                                  .layers = 32,
                                  .vocabulary = 248320,
                                  .heads = {16, 4, 256},
                                  .positions = 32768,
                                  .rotary_part = 0.25},
                                 /*joined=*/false);
  stack.angles_by_sample = true;
}

void parse_qwen3_5_moe(ConfigReader& config, Architecture& out) {
  Stack& stack = add_delta_stack(config, out,
                                 {.hidden = 2048,
                                  .intermediate = 512,
                                  .layers = 40,
                                  .vocabulary = 248320,
                                  .heads = {16, 2, 256},
                                  .positions = 32768,
                                  .rotary_part = 0.25,
                                  .dense = false},
                                 /*joined=*/false);
  stack.angles_by_sample = true;
  read_sparse_half(config, stack, {.count = 256, .per_token = 8, .intermediate = 512});
}

namespace {

// Lfm2MLP: two thirds of the width, times a number, up to a multiple of another.
std::uint64_t adjusted_width(ConfigReader& config, std::uint64_t width) {
  if (!config.flag_or({"block_auto_adjust_ff_dim"}, true)) return width;
  std::uint64_t inner = 2 * width / 3;
  const double times = config.positive_or({"block_ffn_dim_multiplier"}, 1.0);
  const std::uint64_t multiple = config.size_or({"block_multiple_of"}, widths, 256);
  if (config.is_null("block_ffn_dim_multiplier")) return inner;
  const double wide = times * static_cast<double>(inner);
  if (wide > static_cast<double>(widths.max)) {
    config.fail_with("block_ffn_dim_multiplier",
                     fmt::format("expected one that makes at most {} of {}, found {}", widths.max,
                                 inner, times));
    return inner;
  }
  inner = static_cast<std::uint64_t>(wide);
  return (inner + multiple - 1) / multiple * multiple;
}

}  // namespace

void parse_lfm2(ConfigReader& config, Architecture& out) {
  Stack& stack = add_llama_stack(config, out,
                                 {.hidden = 2560,
                                  .intermediate = 12288,
                                  .heads = {32, 8, std::nullopt},
                                  .positions = 128000,
                                  .tied = true,
                                  .dense = false});
  stack.mlp.intermediate =
      adjusted_width(config, config.size_or({"block_ff_dim"}, widths, stack.mlp.intermediate));
  stack.mlp.activation = Activation::silu;
  stack.norm.eps = config.positive_or({"norm_eps"}, 1e-5);
  stack.attention.qk_norm = true;
  out.head.tied = config.flag_or({"tie_embedding", "tie_word_embeddings"}, true);
  ShortConvolution& convolution = stack.short_convolution.emplace();
  convolution.kernel = config.size_or({"conv_L_cache"}, {1, 256}, 3);
  convolution.bias = config.flag_or({"conv_bias"}, false);
  if (config.has("layer_types")) {
    read_mixers(config, stack, "conv", Mixer::short_convolution);
  } else {
    const bool all = !config.has("full_attn_idxs");
    stack.mixers.assign(stack.layers, all ? Mixer::attention : Mixer::short_convolution);
    for (const std::uint64_t layer : config.sizes_or("full_attn_idxs", {}))
      if (layer < stack.layers) stack.mixers[layer] = Mixer::attention;
  }
  ModuleNames& names = stack.names;
  names.o = "out_proj";
  names.mlp = "feed_forward";
  names.gate = "w1";
  names.up = "w3";
  names.down = "w2";
  names.first_norm = "operator_norm";
  names.second_norm = "ffn_norm";
  names.final_norm = "model.embedding_norm";
}

}  // namespace headroom::estimate
