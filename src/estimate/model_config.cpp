// SPDX-License-Identifier: Apache-2.0
#include "estimate/model_config.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <string_view>
#include <utility>

#include "base/document.h"
#include "estimate/job.h"
#include "estimate/models/config_reader.h"

namespace headroom::estimate {

namespace {

// Of transformers' Gemma2Config, where a config.json leaves them out.
constexpr double gemma2_query_scalar = 256;
constexpr double gemma2_score_cap = 50;
constexpr double gemma2_logit_cap = 30;

// The count of transformers' modeling_gpt2.py.
std::uint64_t count_gpt2(const ModelConfig& model) {
  const std::uint64_t h = model.hidden;
  const std::uint64_t matrices = 4 * h * h + 2 * h * model.intermediate;
  const std::uint64_t biases = 4 * h + model.intermediate + h;
  constexpr std::uint64_t norms = 4;  // Two weights and two biases.
  return model.layers * (matrices + biases + norms * h) + 2 * h + model.position_rows * h +
         (model.tied ? 1 : 2) * model.vocabulary * h;
}

}  // namespace

// The count of transformers' modeling_llama.py and its relatives: L(2HQ + 2HK + 3HI + 2H) + H + the
// embedding, once or twice, and the biases; 4H in Gemma 2.
std::uint64_t ModelConfig::parameters() const {
  if (is_gpt2()) return count_gpt2(*this);
  const std::uint64_t q = query_size();
  const std::uint64_t k = kv_size();
  std::uint64_t layer =
      2 * hidden * q + 2 * hidden * k + 3 * hidden * intermediate + (norms_around ? 4 : 2) * hidden;
  if (qkv_bias) layer += q + 2 * k;
  if (o_bias) layer += hidden;
  if (mlp_bias) layer += 2 * intermediate + hidden;
  if (qk_norm) layer += 2 * head_dim;
  return layers * layer + hidden + (tied ? 1 : 2) * vocabulary * hidden;
}

Result<ModelConfig> decoder_config(const Architecture& architecture) {
  const std::string& family = architecture.family;
  const bool known = family == "llama" || family == "mistral" || family == "qwen2" ||
                     family == "qwen3" || family == "phi3" || family == "gemma" ||
                     family == "gemma2" || family == "gpt2";
  if (!known || architecture.stacks.size() != 1) {
    return Error{
        Errc::unsupported,
        fmt::format("model_type: expected llama, mistral, qwen2, qwen3, phi3, gemma, gemma2 or "
                    "gpt2, found \"{}\"",
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
  if (family == "gpt2") config.position_rows = stack.position_rows;
  config.fused = stack.attention.fused_qkv && !config.is_gpt2();
  config.windows = stack.windows;
  config.gemma = stack.norm.unit_offset;
  config.norms_around = stack.placement == NormPlacement::around;
  if (family == "gemma2") config.query_scalar = gemma2_query_scalar;
  if (stack.attention.soft_cap) config.score_cap = gemma2_score_cap;
  if (architecture.head.soft_cap) config.logit_cap = gemma2_logit_cap;
  return config;
}

namespace {

// max_position_embeddings of transformers' configuration_….py.
std::uint64_t class_positions(std::string_view family) {
  constexpr std::array<std::pair<std::string_view, std::uint64_t>, 7> known{{{"llama", 2048},
                                                                             {"mistral", 131072},
                                                                             {"qwen2", 32768},
                                                                             {"qwen3", 32768},
                                                                             {"phi3", 4096},
                                                                             {"gemma", 8192},
                                                                             {"gemma2", 8192}}};
  for (const auto& [name, positions] : known)
    if (name == family) return positions;
  return 0;
}

// `value` becomes what the key says, and 0 where it says null; an absent key leaves it.
Status read_number(const Json& config, const char* key, bool may_be_null, double& value) {
  const auto found = config.find(key);
  if (found == config.end()) return Done{};
  if (found->is_null() && may_be_null) {
    value = 0;
    return Done{};
  }
  const double number = found->is_number() ? found->get<double>() : 0;
  if (!(number > 0) || !std::isfinite(number))
    return Error{Errc::invalid,
                 fmt::format("config.json, {}: expected a number above 0{}, found {}", key,
                             may_be_null ? " or null" : "", shown(&*found)),
                 take_the_original};
  value = number;
  return Done{};
}

void as_gemma(const ModelConfig& config, Stack& stack) {
  stack.norm.unit_offset = stack.input.scaled = true;
  stack.mlp.activation = Activation::gelu_tanh;
  stack.attention.soft_cap = config.score_cap > 0;
  if (!config.norms_around) return;
  stack.placement = NormPlacement::around;
  stack.names.second_norm = "pre_feedforward_layernorm";
}

void as_gpt2(const ModelConfig& config, Stack& stack) {
  stack.positions = Positions::learned;
  stack.position_rows = config.position_rows;
  stack.attention.fused_qkv = true;
  stack.mlp.fused_gate_up = stack.mlp.gated = false;
  stack.mlp.activation = Activation::gelu_new;
  stack.norm.kind = NormKind::layer;
  stack.norm.bias = true;
}

}  // namespace

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
  if (config.is_gpt2()) as_gpt2(config, stack);
  if (config.gemma) as_gemma(config, stack);
  Architecture architecture;
  architecture.family = config.family;
  architecture.stacks.push_back(stack);
  architecture.vocabulary = config.vocabulary;
  architecture.head.tied = config.tied;
  architecture.head.soft_cap = config.logit_cap > 0;
  return architecture;
}

Status check_scaled_length(const Job& job, const ModelConfig& model) {
  const std::uint64_t longest = model.rotary.longest;
  if (longest == 0 || job.batch.sequence <= longest) return Done{};
  const std::string type = model.rotary.kind.substr(0, model.rotary.kind.find(','));
  return Error{Errc::unsupported,
               fmt::format("expected at most {}, up to which this model's rotary positions ({}) "
                           "are the same for all texts, found {}",
                           longest, type, job.batch.sequence),
               fmt::format("write sequence = {}, or plan and train with another engine: "
                           "engine.kind = \"transformers\"",
                           longest)}
      .at("batch.sequence");
}

Status read_numbers(const Json& config, ModelConfig& model) {
  if (!model.is_gpt2()) {
    const RotaryShape shape{model.rope_theta, model.head_dim, class_positions(model.family)};
    HEADROOM_TRY(model.rotary, read_rotary_scaling(config, shape));
  }
  if (model.family != "gemma2") return Done{};
  HEADROOM_CHECK(read_number(config, "query_pre_attn_scalar", false, model.query_scalar));
  HEADROOM_CHECK(read_number(config, "attn_logit_softcapping", true, model.score_cap));
  return read_number(config, "final_logit_softcapping", true, model.logit_cap);
}

Result<ModelConfig> parse_model_config(const Json& config) {
  HEADROOM_TRY(const Architecture architecture, parse_architecture(config));
  HEADROOM_TRY(ModelConfig model, decoder_config(architecture));
  HEADROOM_CHECK(read_numbers(config, model));
  return model;
}

}  // namespace headroom::estimate
