// SPDX-License-Identifier: Apache-2.0
#include "estimate/model_config.h"

#include <fmt/format.h>

#include "base/document.h"

namespace headroom::estimate {

// The count of transformers' modeling_llama.py and its relatives: L(2HQ + 2HK + 3HI + 2H) + H + the
// embedding, once or twice, and the biases.
std::uint64_t ModelConfig::parameters() const {
  const std::uint64_t q = query_size();
  const std::uint64_t k = kv_size();
  std::uint64_t layer = 2 * hidden * q + 2 * hidden * k + 3 * hidden * intermediate + 2 * hidden;
  if (qkv_bias) layer += q + 2 * k;
  if (o_bias) layer += hidden;
  if (mlp_bias) layer += 2 * intermediate + hidden;
  if (qk_norm) layer += 2 * head_dim;
  return layers * layer + hidden + (tied ? 1 : 2) * vocabulary * hidden;
}

Result<ModelConfig> decoder_config(const Architecture& architecture) {
  const std::string& family = architecture.family;
  const bool known = family == "llama" || family == "mistral" || family == "qwen2" ||
                     family == "qwen3" || family == "phi3";
  if (!known || architecture.stacks.size() != 1) {
    return Error{
        Errc::unsupported,
        fmt::format("model_type: expected llama, mistral, qwen2, qwen3 or phi3, found \"{}\"",
                    family),
        "headroom-train has the layers of these; other models are planned for [engine] "
        "kind = \"transformers\""};
  }
  if (architecture.head.kind != Head::Kind::language) {
    return Error{Errc::unsupported,
                 "architectures: expected a language model (…ForCausalLM), found another head",
                 "headroom-train trains language models; others are planned for [engine] kind = "
                 "\"transformers\""};
  }
  const Stack& stack = architecture.main();
  ModelConfig config;
  config.family = family;
  config.hidden = stack.hidden;
  config.intermediate = stack.mlp.intermediate;
  config.layers = stack.layers;
  config.heads = stack.attention.heads;
  config.kv_heads = stack.attention.kv_heads;
  config.head_dim = stack.attention.head_dim;
  config.vocabulary = architecture.vocabulary;
  config.tied = architecture.head.tied;
  config.qkv_bias = stack.attention.q_bias;
  config.o_bias = stack.attention.o_bias;
  config.mlp_bias = stack.mlp.bias;
  config.rms_norm_eps = stack.norm.eps;
  config.rope_theta = stack.rope_theta;
  config.qk_norm = stack.attention.qk_norm;
  config.fused = stack.attention.fused_qkv;
  config.windows = stack.windows;
  return config;
}

Architecture architecture_of(const ModelConfig& config) {
  Stack stack;
  stack.hidden = stack.input.width = config.hidden;
  stack.layers = config.layers;
  stack.attention.heads = config.heads;
  stack.attention.kv_heads = config.kv_heads;
  stack.attention.head_dim = config.head_dim;
  stack.attention.q_bias = stack.attention.k_bias = stack.attention.v_bias = config.qkv_bias;
  stack.attention.o_bias = config.o_bias;
  stack.mlp.intermediate = config.intermediate;
  stack.mlp.bias = config.mlp_bias;
  stack.norm.eps = config.rms_norm_eps;
  stack.rope_theta = config.rope_theta;
  stack.attention.qk_norm = config.qk_norm;
  stack.attention.fused_qkv = stack.mlp.fused_gate_up = config.fused;
  stack.windows = config.windows;
  Architecture architecture;
  architecture.family = config.family;
  architecture.stacks.push_back(stack);
  architecture.vocabulary = config.vocabulary;
  architecture.head.tied = config.tied;
  return architecture;
}

Result<ModelConfig> parse_model_config(const Json& config) {
  HEADROOM_TRY(const Architecture architecture, parse_architecture(config));
  return decoder_config(architecture);
}

}  // namespace headroom::estimate
