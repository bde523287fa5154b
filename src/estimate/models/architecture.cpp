// SPDX-License-Identifier: Apache-2.0
#include "estimate/models/architecture.h"

#include <fmt/format.h>

#include <optional>

#include "estimate/model_config.h"

namespace headroom::estimate {
namespace {

// Far above every model, and low enough that no count of parameters overflows.
constexpr std::uint64_t width_max = 1U << 20U;
constexpr std::uint64_t layers_max = 1U << 10U;
constexpr std::uint64_t heads_max = 1U << 14U;  // Of the number of heads and of the size of one.
constexpr std::uint64_t vocabulary_max = 1U << 24U;

const char* const take_the_original = "take config.json from the model's own folder, or correct it";

std::string shown(const Json* found) {
  if (found == nullptr) return "nothing";
  if (found->is_structured()) return found->is_object() ? "an object" : "an array";
  const std::string text = found->dump(-1, ' ', /*ensure_ascii=*/true);
  return text.size() > 60 ? text.substr(0, 60) + "…" : text;
}

class ConfigParser {
 public:
  explicit ConfigParser(const Json& config) : config_(config) {}

  Result<Architecture> parse() {
    ModelConfig model;
    model.family = text("model_type");
    if (problem_) return *problem_;
    if (model.family != "llama" && model.family != "mistral" && model.family != "qwen2") {
      return Error{
          Errc::unsupported,
          fmt::format("model_type: expected llama, mistral or qwen2, found \"{}\"", model.family),
          "if it has a llama's layers, write \"model_type\": \"llama\" in a copy of its "
          "config.json"};
    }
    model.hidden = number("hidden_size", width_max);
    model.intermediate = number("intermediate_size", width_max);
    model.layers = number("num_hidden_layers", layers_max);
    model.heads = number("num_attention_heads", heads_max);
    model.kv_heads = number("num_key_value_heads", heads_max, model.heads);
    model.head_dim = number("head_dim", heads_max, model.hidden / model.heads);
    model.vocabulary = number("vocab_size", vocabulary_max);
    model.tied = flag("tie_word_embeddings", false);
    const bool bias = flag("attention_bias", false);
    model.qkv_bias = model.family == "qwen2" || bias;
    model.o_bias = model.family != "qwen2" && bias;
    model.mlp_bias = flag("mlp_bias", false);
    model.rms_norm_eps = real("rms_norm_eps", 1e-6);
    model.rope_theta = real("rope_theta", 10000.0);
    if (problem_) return *problem_;
    HEADROOM_CHECK(check(model));
    return architecture_of(model);
  }

 private:
  static Status check(const ModelConfig& model) {
    if (model.head_dim == 0) {
      return Error{Errc::invalid,
                   fmt::format("hidden_size: expected at least num_attention_heads = {}, found {}",
                               model.heads, model.hidden),
                   take_the_original};
    }
    if (model.heads % model.kv_heads != 0) {
      return Error{
          Errc::invalid,
          fmt::format("num_attention_heads: expected a multiple of num_key_value_heads = {}, "
                      "found {}",
                      model.kv_heads, model.heads),
          take_the_original};
    }
    if (model.head_dim % 2 != 0) {
      return Error{
          Errc::invalid,
          fmt::format("head_dim: rotary embedding needs an even number, found {}", model.head_dim),
          take_the_original};
    }
    return Done{};
  }

  const Json* find(const char* key) const {
    const auto found = config_.find(key);
    return found == config_.end() || found->is_null() ? nullptr : &*found;
  }

  void fail(const char* key, const std::string& wanted, const Json* found) {
    if (problem_) return;
    problem_ =
        Error{Errc::invalid, fmt::format("{}: expected {}, found {}", key, wanted, shown(found)),
              take_the_original};
  }

  std::string text(const char* key) {
    const Json* value = find(key);
    if (value != nullptr && value->is_string()) return *value;
    fail(key, "text", value);
    return {};
  }

  std::uint64_t number(const char* key, std::uint64_t max,
                       std::optional<std::uint64_t> otherwise = std::nullopt) {
    const Json* value = find(key);
    if (value == nullptr && otherwise) return *otherwise;
    if (value != nullptr && value->is_number_integer() && *value >= 1 && *value <= max)
      return *value;
    fail(key, fmt::format("a whole number from 1 to {}", max), value);
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

Result<Architecture> parse_architecture(const Json& config) {
  if (!config.is_object())
    return Error{Errc::invalid, "expected an object with model_type, found " + shown(&config),
                 take_the_original};
  return ConfigParser(config).parse();
}

Result<Architecture> find_architecture(const std::string& name) {
  return Error{
      Errc::unsupported,
      fmt::format("model.name: \"{}\" alone is not enough: this version has no table of models",
                  name),
      "add config = \"the folder with the model's config.json\" to [model]"};
}

}  // namespace headroom::estimate
