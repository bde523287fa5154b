// SPDX-License-Identifier: Apache-2.0
#include "estimate/files/gguf_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "base/document.h"

namespace headroom::estimate {
namespace {

struct Name {
  std::string_view gguf;
  std::string_view config;
};

// general.architecture → model_type, where they differ.
constexpr std::array<Name, 8> families = {{{"qwen2moe", "qwen2_moe"},
                                           {"qwen3moe", "qwen3_moe"},
                                           {"gemma3", "gemma3_text"},
                                           {"phi2", "phi"},
                                           {"gptneox", "gpt_neox"},
                                           {"nomic-bert", "nomic_bert"},
                                           {"deepseek2", "deepseek_v2"},
                                           {"gpt-oss", "gpt_oss"}}};

// "{architecture}.KEY" → the config's key, as most families call it.
constexpr std::array<Name, 11> numbers = {{
    {"context_length", "max_position_embeddings"},
    {"attention.sliding_window", "sliding_window"},
    {"expert_used_count", "num_experts_per_tok"},
    {"expert_feed_forward_length", "moe_intermediate_size"},
    {"expert_shared_feed_forward_length", "shared_expert_intermediate_size"},
    {"attention.layer_norm_rms_epsilon", "rms_norm_eps"},
    {"attention.layer_norm_epsilon", "layer_norm_eps"},
    {"rope.freq_base", "rope_theta"},
    {"attn_logit_softcapping", "attn_logit_softcapping"},
    {"final_logit_softcapping", "final_logit_softcapping"},
    {"attention.relative_buckets_count", "relative_attention_num_buckets"},
}};

// Families whose config.json has words of its own.
constexpr std::array<Name, 5> gpt2_words = {{{"num_hidden_layers", "n_layer"},
                                             {"hidden_size", "n_embd"},
                                             {"num_attention_heads", "n_head"},
                                             {"intermediate_size", "n_inner"},
                                             {"max_position_embeddings", "n_positions"}}};
constexpr std::array<Name, 5> t5_words = {{{"num_hidden_layers", "num_layers"},
                                           {"hidden_size", "d_model"},
                                           {"num_attention_heads", "num_heads"},
                                           {"intermediate_size", "d_ff"},
                                           {"head_dim", "d_kv"}}};

class ConfigWriter {
 public:
  explicit ConfigWriter(const GgufHeader& header) : header_(header) {}

  Result<Json> write() {
    const std::string* architecture = header_.text("general.architecture");
    if (architecture == nullptr) {
      return Error{Errc::unsupported,
                   "general.architecture: expected the name of a model's family, found nothing",
                   "give the path of a model's own .gguf file"};
    }
    prefix_ = *architecture + ".";
    config_["model_type"] = family(*architecture);
    write_shape();
    if (problem_) return *problem_;
    write_numbers();
    write_heads();
    write_tensors();
    write_family(*architecture);
    return std::move(config_);
  }

 private:
  static std::string family(const std::string& architecture) {
    const auto* const found = std::find_if(families.begin(), families.end(), [&](const Name& name) {
      return name.gguf == architecture;
    });
    return std::string(found == families.end() ? std::string_view(architecture) : found->config);
  }

  // A number, or the largest of one number a layer.
  std::optional<std::uint64_t> number(const std::string& key) const {
    if (const auto one = header_.number(prefix_ + key)) return one;
    const GgufArray* each = header_.array(prefix_ + key);
    if (each == nullptr || each->numbers.empty()) return std::nullopt;
    const double largest = *std::max_element(each->numbers.begin(), each->numbers.end());
    if (!(largest >= 0 && largest <= 1e15)) return std::nullopt;
    return static_cast<std::uint64_t>(largest);
  }

  void need(const std::string& key, const char* word) {
    if (const auto found = number(key)) {
      config_[word] = *found;
    } else if (!problem_) {
      problem_ = Error{
          Errc::invalid,
          fmt::format("{}{}: expected a whole number, found {}", prefix_, key,
                      header_.metadata.contains(prefix_ + key) ? "something else" : "nothing"),
          "give the path of a model's own .gguf file, not of an adapter's or a "
          "projector's"};
    }
  }

  void write_shape() {
    need("block_count", "num_hidden_layers");
    need("embedding_length", "hidden_size");
    need("feed_forward_length", "intermediate_size");
    need("attention.head_count", "num_attention_heads");
    if (const auto vocabulary = vocabulary_size()) config_["vocab_size"] = *vocabulary;
  }

  // Rows of the embedding, which may be more than there are tokens.
  std::optional<std::uint64_t> vocabulary_size() const {
    const StoredTensor* embedding = header_.weights.find("token_embd.weight");
    if (embedding != nullptr && embedding->shape.size() == 2) return embedding->shape[0];
    if (const auto given = number("vocab_size")) return given;
    const GgufArray* tokens = header_.array("tokenizer.ggml.tokens");
    if (tokens != nullptr) return tokens->length;
    return std::nullopt;
  }

  void write_numbers() {
    for (const auto& [key, word] : numbers) {
      const std::string name = prefix_ + std::string(key);
      if (const auto whole = number(std::string(key))) {
        config_[std::string(word)] = *whole;
      } else if (const auto real = header_.real(name)) {
        config_[std::string(word)] = *real;
      }
    }
    if (const auto experts = number("expert_count"); experts && *experts > 0) {
      config_["num_experts"] = *experts;
      config_["num_local_experts"] = *experts;
    }
  }

  void write_heads() {
    const auto heads = config_["num_attention_heads"].get<std::uint64_t>();
    config_["num_key_value_heads"] = number("attention.head_count_kv").value_or(heads);
    if (const auto length = number("attention.key_length")) {
      config_["head_dim"] = *length;
    }
    const std::uint64_t hidden = config_["hidden_size"];
    const std::uint64_t size =
        number("attention.key_length").value_or(heads == 0 ? 0 : hidden / heads);
    const auto turned = number("rope.dimension_count");
    if (turned && size > 0 && *turned < size) {
      const double part = static_cast<double>(*turned) / static_cast<double>(size);
      config_["partial_rotary_factor"] = part;
      config_["rotary_pct"] = part;  // GPT-NeoX's word.
    }
  }

  void write_tensors() {
    const auto has = [&](const char* name) { return header_.weights.find(name) != nullptr; };
    config_["tie_word_embeddings"] = !has("output.weight");
    config_["attention_bias"] = has("blk.0.attn_q.bias") || has("blk.0.attn_qkv.bias");
    config_["mlp_bias"] = has("blk.0.ffn_up.bias");
  }

  template <std::size_t n>
  void rename(const std::array<Name, n>& words) {
    for (const auto& [common, own] : words) {
      const auto found = config_.find(std::string(common));
      if (found != config_.end()) config_[std::string(own)] = *found;
    }
  }

  void write_family(const std::string& architecture) {
    if (architecture == "llama" && config_.contains("num_local_experts"))
      config_["model_type"] = "mixtral";
    if (architecture == "gpt2") rename(gpt2_words);
    if (architecture == "t5") {
      rename(t5_words);
      config_["feed_forward_proj"] =
          header_.weights.find("enc.blk.0.ffn_gate.weight") != nullptr ? "gated-gelu" : "relu";
    }
    if (architecture == "falcon") {
      const bool two_norms = header_.weights.find("blk.0.attn_norm_2.weight") != nullptr;
      config_["new_decoder_architecture"] = two_norms;
      config_["num_kv_heads"] = config_["num_key_value_heads"];
      config_["multi_query"] = config_["num_key_value_heads"] == 1;
    }
    const StoredTensor* types = header_.weights.find("token_types.weight");
    if (types != nullptr && types->shape.size() == 2) config_["type_vocab_size"] = types->shape[0];
    if (architecture == "gptneox") {
      const auto parallel = header_.metadata.find(prefix_ + "use_parallel_residual");
      const bool* flag =
          parallel == header_.metadata.end() ? nullptr : std::get_if<bool>(&parallel->second);
      config_["use_parallel_residual"] = flag == nullptr || *flag;
    }
  }

  const GgufHeader& header_;
  std::string prefix_;
  Json config_ = Json::object();
  std::optional<Error> problem_;
};

}  // namespace

Result<Json> to_config(const GgufHeader& header) {
  return ConfigWriter(header).write();
}

}  // namespace headroom::estimate
