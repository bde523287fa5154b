// SPDX-License-Identifier: Apache-2.0
// DeepSeek-V2 and V3 (R1, Moonlight, Kimi K2): latent attention, and a mixture of experts with
// some that every token passes. Sources: transformers, models/{deepseek_v2,deepseek_v3}.
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "estimate/models/families.h"
#include "estimate/models/latent_attention.h"
#include "estimate/models/llama.h"

namespace headroom::estimate {
namespace {

void read_latent(ConfigReader& config, Stack& stack, bool complex_angles) {
  auto latent = std::make_shared<LatentAttention>();
  // Null says that q is not narrowed; both classes narrow it where the key is left out.
  const std::uint64_t q_rank = config.is_null("q_lora_rank") ? 0 : 1536;
  latent->q_rank = config.size_or({"q_lora_rank"}, {0, widths.max}, q_rank);
  latent->kv_rank = config.size_or({"kv_lora_rank"}, widths, 512);
  latent->nope = config.size_or({"qk_nope_head_dim"}, head_counts, 128);
  latent->rope = config.size_or({"qk_rope_head_dim"}, head_counts, 64);
  latent->value = config.size_or({"v_head_dim"}, head_counts, 128);
  latent->bias = config.flag_or({"attention_bias"}, false);
  latent->complex_angles = complex_angles;
  if (latent->rope % 2 != 0)
    config.fail_with("qk_rope_head_dim",
                     fmt::format("rotary embedding needs an even number, found {}", latent->rope));
  AttentionShape& attention = stack.attention;
  attention.kv_heads = attention.heads;
  attention.head_dim = latent->query_head();
  attention.rotary_part = 1.0;
  attention.latent = std::move(latent);
}

// Layers before first_k_dense_replace have an MLP.
void read_experts(ConfigReader& config, Stack& stack, const Experts& defaults, std::uint64_t shared,
                  std::uint64_t dense) {
  Experts& experts = stack.experts.emplace(defaults);
  experts.count = config.size_or({"n_routed_experts", "num_experts", "num_local_experts"},
                                 expert_counts, defaults.count);
  experts.per_token = config.size_or({"num_experts_per_tok"}, {1, experts.count},
                                     std::min(defaults.per_token, experts.count));
  experts.intermediate = config.size_or({"moe_intermediate_size"}, widths, defaults.intermediate);
  experts.shared_intermediate =
      experts.intermediate * config.size_or({"n_shared_experts"}, {0, expert_counts.max}, shared);
  experts.shared_gate = false;
  const std::uint64_t first =
      config.size_or({"first_k_dense_replace"}, {0, layer_counts.max}, dense);
  experts.layers.resize(stack.layers);
  for (std::uint64_t layer = 0; layer < stack.layers; ++layer)
    experts.layers[layer] = layer >= first;
  stack.names.shared_expert = "mlp.shared_experts";
}

}  // namespace

void parse_deepseek_v2(ConfigReader& config, Architecture& out) {
  Stack& stack = add_llama_stack(config, out,
                                 {.vocabulary = 102400, .heads = {32, std::nullopt, std::nullopt}});
  read_latent(config, stack, /*complex_angles=*/true);
  Experts experts{.count = 64, .per_token = 6, .intermediate = 1407};
  experts.routing = Routing::wide_softmax;
  read_experts(config, stack, experts, 2, 0);
  stack.mlp.bias = config.flag_or({"mlp_bias"}, false);
}

void parse_deepseek_v3(ConfigReader& config, Architecture& out) {
  Stack& stack = add_llama_stack(config, out,
                                 {.hidden = 7168,
                                  .intermediate = 18432,
                                  .layers = 61,
                                  .vocabulary = 129280,
                                  .heads = {128, 128, std::nullopt},
                                  .positions = 4096});
  read_latent(config, stack, /*complex_angles=*/false);
  Experts experts{.count = 256, .per_token = 8, .intermediate = 2048};
  experts.routing = Routing::wide_sigmoid;
  read_experts(config, stack, experts, 1, 3);
}

}  // namespace headroom::estimate
