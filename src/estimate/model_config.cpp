// SPDX-License-Identifier: Apache-2.0
#include "estimate/model_config.h"

#include <fmt/format.h>

#include <optional>

namespace headroom::estimate {
namespace {

class ConfigParser {
 public:
  explicit ConfigParser(const Json& config) : config_(config) {}

  Result<ModelConfig> parse() {
    ModelConfig model;
    model.family = text("model_type");
    if (problem_) return *problem_;
    if (model.family != "llama" && model.family != "mistral" && model.family != "qwen2") {
      return Error{
          Errc::unsupported,
          fmt::format("model_type: expected llama, mistral or qwen2, found \"{}\"", model.family),
          "plan a model of one of these families, or give the shape as a llama config"};
    }
    model.hidden = number("hidden_size");
    model.intermediate = number("intermediate_size");
    model.layers = number("num_hidden_layers");
    model.heads = number("num_attention_heads");
    model.kv_heads = number("num_key_value_heads", model.heads);
    model.head_dim = number("head_dim", model.heads == 0 ? 0 : model.hidden / model.heads);
    model.vocabulary = number("vocab_size");
    model.tied = flag("tie_word_embeddings", false);
    const bool bias = flag("attention_bias", false);
    model.qkv_bias = model.family == "qwen2" || bias;
    model.o_bias = model.family != "qwen2" && bias;
    model.mlp_bias = flag("mlp_bias", false);
    model.rms_norm_eps = real("rms_norm_eps", 1e-6);
    model.rope_theta = real("rope_theta", 10000.0);
    if (problem_) return *problem_;
    return check(model);
  }

 private:
  static Result<ModelConfig> check(const ModelConfig& model) {
    if (model.heads % model.kv_heads != 0) {
      return Error{
          Errc::invalid,
          fmt::format("num_attention_heads: expected a multiple of num_key_value_heads = {}, "
                      "found {}",
                      model.kv_heads, model.heads),
          "correct config.json"};
    }
    if (model.head_dim % 2 != 0) {
      return Error{
          Errc::invalid,
          fmt::format("head_dim: rotary embedding needs an even number, found {}", model.head_dim),
          "correct config.json"};
    }
    return model;
  }

  const Json* find(const char* key) const {
    const auto found = config_.find(key);
    return found == config_.end() || found->is_null() ? nullptr : &*found;
  }

  void fail(const char* key, const char* wanted, const Json* found) {
    if (problem_) return;
    problem_ = Error{Errc::invalid,
                     fmt::format("config.json: {}: expected {}, found {}", key, wanted,
                                 found == nullptr ? "nothing" : found->dump()),
                     "take config.json from the model's own folder"};
  }

  std::string text(const char* key) {
    const Json* value = find(key);
    if (value != nullptr && value->is_string()) return *value;
    fail(key, "text", value);
    return {};
  }

  std::uint64_t number(const char* key, std::optional<std::uint64_t> otherwise = std::nullopt) {
    const Json* value = find(key);
    if (value == nullptr && otherwise) return *otherwise;
    constexpr std::uint64_t too_big = 1ULL
                                      << 32U;  // Keeps every product of shapes below 2^64 · 2^64.
    if (value != nullptr && value->is_number_unsigned() && *value > 0 && *value < too_big)
      return *value;
    fail(key, "a whole number above 0", value);
    return 1;
  }

  bool flag(const char* key, bool otherwise) {
    const Json* value = find(key);
    if (value == nullptr) return otherwise;
    if (!value->is_boolean()) fail(key, "true or false", value);
    return value->is_boolean() && value->get<bool>();
  }

  double real(const char* key, double otherwise) {
    const Json* value = find(key);
    if (value == nullptr) return otherwise;
    if (!value->is_number() || *value <= 0.0) fail(key, "a number above 0", value);
    return value->is_number() ? value->get<double>() : otherwise;
  }

  const Json& config_;
  std::optional<Error> problem_;
};

}  // namespace

// estimators.md §3: L(2HQ + 2HK + 3HI + 2H) + H + the embedding, once or twice, and the biases.
std::uint64_t ModelConfig::parameters() const {
  const std::uint64_t q = query_size();
  const std::uint64_t k = kv_size();
  std::uint64_t layer = 2 * hidden * q + 2 * hidden * k + 3 * hidden * intermediate + 2 * hidden;
  if (qkv_bias) layer += q + 2 * k;
  if (o_bias) layer += hidden;
  if (mlp_bias) layer += 2 * intermediate + hidden;
  return layers * layer + hidden + (tied ? 1 : 2) * vocabulary * hidden;
}

Result<ModelConfig> parse_model_config(const Json& config) {
  if (!config.is_object()) {
    return Error{Errc::invalid, "config.json: expected an object, found something else",
                 "take config.json from the model's own folder"};
  }
  return ConfigParser(config).parse();
}

}  // namespace headroom::estimate
