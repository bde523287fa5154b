// SPDX-License-Identifier: Apache-2.0
// Mixtures of experts. Sources: transformers, models/{mixtral,qwen2_moe,qwen3_moe}.
#include "base/document.h"
#include "estimate/models/families.h"
#include "estimate/models/llama.h"

namespace headroom::estimate {

// intermediate_size is that of one expert; every layer has them.
void parse_mixtral(ConfigReader& config, Architecture& out) {
  Stack& stack = add_llama_stack(
      config, out,
      {.intermediate = 14336, .heads = {32, 8, std::nullopt}, .positions = 131072, .eps = 1e-5});
  Experts& experts = stack.experts.emplace();
  experts.count = config.size({"num_local_experts", "num_experts"}, expert_counts, 8);
  experts.per_token = config.size_or({"num_experts_per_tok"}, {1, experts.count}, 2);
  experts.intermediate = stack.mlp.intermediate;
  experts.routing = Routing::kept_softmax;
  stack.names.router = "block_sparse_moe.gate";
  stack.names.experts = "block_sparse_moe.experts";
  stack.names.gate = "w1";
  stack.names.up = "w3";
  stack.names.down = "w2";
  read_windows(config, stack, std::nullopt, [](std::uint64_t) { return true; });
}

namespace {

// Layers that are not in mlp_only_layers and whose number, from 1, decoder_sparse_step divides.
void read_sparse_layers(ConfigReader& config, Stack& stack) {
  const std::uint64_t step = config.size_or({"decoder_sparse_step"}, layer_counts, 1);
  std::vector<bool> sparse(stack.layers);
  for (std::uint64_t layer = 0; layer < stack.layers; ++layer) {
    sparse[layer] = (layer + 1) % step == 0;
  }
  const Json* dense = config.find({"mlp_only_layers"});
  if (dense != nullptr && !dense->is_array()) config.fail("mlp_only_layers", "an array of layers");
  if (dense != nullptr && dense->is_array()) {
    for (const Json& layer : *dense) {
      if (!layer.is_number_integer() || layer < 0 || layer >= stack.layers) {
        config.fail_with("mlp_only_layers",
                         "expected numbers of layers, found " + shown(&layer) + " in it");
        return;
      }
      sparse[layer.get<std::size_t>()] = false;
    }
  }
  stack.experts->layers = std::move(sparse);
}

}  // namespace

void read_qwen_experts(ConfigReader& config, Stack& stack, const Experts& defaults) {
  Experts& experts = stack.experts.emplace(defaults);
  experts.count = config.size({"num_experts", "num_local_experts"}, expert_counts, defaults.count);
  experts.intermediate = config.size({"moe_intermediate_size"}, widths, defaults.intermediate);
  experts.per_token = config.size({"num_experts_per_tok"}, {1, experts.count}, defaults.per_token);
  read_sparse_layers(config, stack);
}

void parse_qwen2_moe(ConfigReader& config, Architecture& out) {
  Stack& stack = add_llama_stack(config, out,
                                 {.hidden = 2048,
                                  .intermediate = 5632,
                                  .layers = 24,
                                  .vocabulary = 151936,
                                  .heads = {16, 16, std::nullopt},
                                  .positions = 32768});
  set_bias(stack.attention, config.flag_or({"qkv_bias"}, true), false);
  read_qwen_experts(config, stack, {.count = 60, .per_token = 4, .intermediate = 1408});
  stack.experts->shared_intermediate =
      config.size_or({"shared_expert_intermediate_size"}, widths, 5632);
  if (!config.flag_or({"use_sliding_window"}, false)) return;
  const std::uint64_t end = config.size_or({"max_window_layers"}, {0, layer_counts.max}, 28);
  read_windows(config, stack, 4096,
               [end](std::uint64_t layer) { return layer % 2 == 0 && layer < end; });
}

void parse_olmoe(ConfigReader& config, Architecture& out) {
  Stack& stack = add_llama_stack(config, out,
                                 {.hidden = 2048,
                                  .intermediate = 2048,
                                  .layers = 16,
                                  .vocabulary = 50304,
                                  .heads = {16, std::nullopt, std::nullopt},
                                  .positions = 4096});
  const bool bias = config.flag_or({"attention_bias"}, false);
  set_bias(stack.attention, bias, bias);
  stack.attention.qk_norm = stack.attention.qk_norm_whole = true;
  Experts& experts = stack.experts.emplace();
  experts.count = config.size({"num_experts"}, expert_counts, 64);
  experts.intermediate = stack.mlp.intermediate;
  experts.per_token = config.size({"num_experts_per_tok"}, {1, experts.count}, 8);
}

void parse_qwen3_moe(ConfigReader& config, Architecture& out) {
  Stack& stack = add_llama_stack(config, out,
                                 {.hidden = 2048,
                                  .intermediate = 6144,
                                  .layers = 24,
                                  .vocabulary = 151936,
                                  .heads = {32, 4, std::nullopt},
                                  .positions = 32768});
  const bool bias = config.flag_or({"attention_bias"}, false);
  set_bias(stack.attention, bias, bias);
  stack.attention.qk_norm = true;
  read_qwen_experts(config, stack, {.count = 128, .per_token = 8, .intermediate = 768});
  if (config.flag_or({"use_sliding_window"}, false)) {
    read_windows(config, stack, 4096, [](std::uint64_t) { return true; });
  }
}

}  // namespace headroom::estimate
