// SPDX-License-Identifier: Apache-2.0
// Which family a config.json belongs to, and what to do with one that belongs to none.
#include "estimate/models/architecture.h"

#include <fmt/format.h>

#include <array>

#include "base/text.h"
#include "estimate/models/checkpoint.h"
#include "estimate/models/config_parts.h"
#include "estimate/models/families.h"
#include "estimate/models/parameters.h"
#include "knowledge/models.h"

namespace headroom::estimate {
namespace {

struct Family {
  std::string_view model_type;
  void (*parse)(ConfigReader& config, Architecture& out);
  bool mixes = false;  // It reads its layers' kinds itself.
};

constexpr std::array<Family, 97> families{{
    {"llama", parse_llama},
    {"mistral", parse_mistral},
    {"mixtral", parse_mixtral},
    {"granite", parse_granite},
    {"qwen", parse_qwen},
    {"qwen2", parse_qwen2},
    {"qwen2_vl", parse_qwen2},
    {"qwen2_5_vl", parse_qwen2},
    {"qwen2_vl_text", parse_qwen2},
    {"qwen2_5_vl_text", parse_qwen2},
    {"qwen2_moe", parse_qwen2_moe},
    {"qwen3", parse_qwen3},
    {"qwen3_vl_text", parse_qwen3},
    {"qwen3_moe", parse_qwen3_moe},
    {"qwen3_vl_moe_text", parse_qwen3_moe},
    {"qwen3_next", parse_qwen3_next, true},
    {"qwen3_5", parse_qwen3_5, true},
    {"qwen3_5_text", parse_qwen3_5, true},
    {"qwen3_5_moe", parse_qwen3_5_moe, true},
    {"qwen3_5_moe_text", parse_qwen3_5_moe, true},
    {"lfm2", parse_lfm2, true},
    {"granitemoehybrid", parse_granite_hybrid, true},
    {"bamba", parse_bamba, true},
    {"falcon_h1", parse_falcon_h1, true},
    {"nemotron_h", parse_nemotron_h, true},
    {"mamba2", parse_mamba2, true},
    {"olmoe", parse_olmoe},
    {"deepseek_v2", parse_deepseek_v2},
    {"deepseek_v3", parse_deepseek_v3},
    {"gpt_oss", parse_gpt_oss},
    {"granitemoe", parse_granite_moe},
    {"granitemoeshared", parse_granite_moe_shared},
    {"phimoe", parse_phimoe},
    {"gemma", parse_gemma},
    {"gemma2", parse_gemma2},
    {"gemma3", parse_gemma3},
    {"gemma3_text", parse_gemma3_text},
    {"llava", parse_llava},
    {"llava_next", parse_llava_next},
    {"phi", parse_phi},
    {"phi3", parse_phi3},
    {"stablelm", parse_stablelm},
    {"starcoder2", parse_starcoder2},
    {"arcee", parse_arcee},
    {"cohere", parse_cohere},
    {"cohere2", parse_cohere2},
    {"ernie4_5", parse_ernie4_5},
    {"exaone4", parse_exaone4},
    {"glm", parse_glm},
    {"glm4", parse_glm4},
    {"helium", parse_helium},
    {"hunyuan_v1_dense", parse_hunyuan},
    {"ministral", parse_ministral},
    {"nemotron", parse_nemotron},
    {"olmo", parse_olmo},
    {"olmo2", parse_olmo2},
    {"olmo3", parse_olmo3},
    {"seed_oss", parse_seed_oss},
    {"smollm3", parse_smollm3},
    {"mamba", parse_mamba},
    {"falcon_mamba", parse_falcon_mamba},
    {"gpt2", parse_gpt2},
    {"gpt_bigcode", parse_gpt_bigcode},
    {"gptj", parse_gptj},
    {"gpt_neox", parse_gpt_neox},
    {"falcon", parse_falcon},
    {"RefinedWebModel", parse_falcon},
    {"RefinedWeb", parse_falcon},
    {"bloom", parse_bloom},
    {"mpt", parse_mpt},
    {"opt", parse_opt},
    {"t5", parse_t5},
    {"mt5", parse_t5},
    {"bart", parse_bart},
    {"mbart", parse_bart},
    {"pegasus", parse_pegasus},
    {"whisper", parse_whisper},
    {"wav2vec2", parse_wav2vec2},
    {"hubert", parse_hubert},
    {"bert", parse_bert},
    {"roberta", parse_roberta},
    {"xlm-roberta", parse_roberta},
    {"camembert", parse_roberta},
    {"electra", parse_electra},
    {"ernie", parse_ernie},
    {"distilbert", parse_distilbert},
    {"modernbert", parse_modernbert},
    {"vit", parse_vit},
    {"deit", parse_deit},
    {"dinov2", parse_dinov2},
    {"dinov2_with_registers", parse_dinov2_with_registers},
    {"siglip", parse_siglip},
    {"siglip_vision_model", parse_siglip_vision},
    {"clip", parse_clip},
    {"clip_text_model", parse_clip_text},
    {"clip_vision_model", parse_clip_vision},
    {"transformer", parse_transformer},
}};

// More than any machine holds; below it no number of bytes made of a count overflows.
constexpr std::uint64_t parameters_max = std::uint64_t{1} << 50U;

const Family* find_family(std::string_view model_type) {
  for (const Family& family : families) {
    if (family.model_type == model_type) return &family;
  }
  return nullptr;
}

// Each once: of the names that are read alike, the first.
std::string known_families() {
  std::vector<std::string> names;
  const Family* before = nullptr;
  for (const Family& family : families) {
    if (before == nullptr || family.parse != before->parse) names.emplace_back(family.model_type);
    before = &family;
  }
  return join(names, ", ");
}

bool has_all(const ConfigReader& config, std::initializer_list<const char*> keys) {
  return std::all_of(keys.begin(), keys.end(), [&](const char* key) { return config.has(key); });
}

// Keys of layers that a Llama's words cannot say, whatever else looks like one.
const char* foreign_key(const ConfigReader& config) {
  for (const char* key :
       {"num_experts", "num_local_experts", "n_routed_experts", "moe_intermediate_size",
        "kv_lora_rank", "q_lora_rank", "ssm_cfg", "state_size", "mamba_d_state",
        "attn_layer_period", "linear_num_value_heads", "hidden_size_per_layer_input",
        "is_encoder_decoder", "block_types", "cross_attention_layers", "hybrid_override_pattern",
        "ssm_state_size", "mamba_num_heads", "mamba_d_ssm", "conv_L_cache", "mamba_d_conv",
        "layers_block_type", "lru_width", "rescale_every", "attention_hidden_size",
        // Of encoders, of which none is a Llama.
        "attention_probs_dropout_prob", "hidden_dropout_prob", "type_vocab_size",
        "relative_attention", "embedding_size"}) {
    const Json* value = config.find({key});
    if (value != nullptr && *value != false) return key;
  }
  return nullptr;
}

bool looks_like_llama(const ConfigReader& config) {
  return has_all(config, {"hidden_size", "intermediate_size", "num_hidden_layers",
                          "num_attention_heads", "vocab_size"});
}

class ArchitectureParser {
 public:
  explicit ArchitectureParser(const Json& config) : config_(config, findings_) {}

  Result<Architecture> parse() {
    ConfigReader layers = config_;
    const Family* family = choose(layers);
    if (findings_.problem) return *findings_.problem;
    out_.family = config_.text_or({"model_type"}, "transformer");
    if (!family->mixes) refuse_layer_types(layers);
    family->parse(layers, out_);
    refuse_uneven_widths(layers, out_, std::string(family->model_type));
    if (layers.is_inner()) {  // What stands outside is of the whole model.
      read_storage(layers, out_);
      out_.head.tied = config_.flag_or({"tie_word_embeddings"}, out_.head.tied);
    }
    read_storage(config_, out_);
    read_task(config_, out_);
    if (findings_.problem) return *findings_.problem;
    const std::uint64_t parameters = parameter_count(out_);
    if (parameters > parameters_max) {
      return Error{Errc::invalid,
                   fmt::format("expected a model of at most {} parameters, found {}",
                               parameters_max, parameters),
                   take_the_original};
    }
    note_what_is_left_out();
    out_.notes = std::move(findings_.notes);
    return std::move(out_);
  }

 private:
  // The family whose parser reads `layers`, which may become a table inside. Null with a problem.
  const Family* choose(ConfigReader& layers) {
    const std::string type = config_.text_or({"model_type"}, "");
    if (type.empty()) return without_type();
    if (config_.has("vision_config") && (type == "qwen2_vl" || type == "qwen2_5_vl"))
      return seeing(type);
    if (const Family* family = find_family(type)) {
      // Newer files of some families keep the text's keys in a table of their own.
      if (!config_.has("hidden_size") && config_.has("text_config") && type.starts_with("qwen")) {
        layers = config_.inner("text_config");
      }
      return family;
    }
    for (const char* key : {"text_config", "llm_config", "language_config"}) {
      if (config_.has(key)) return inside(type, key, layers);
    }
    return as_llama(config_, type);
  }

  // Of the families whose language model can stand alone.
  static const Family* seeing(const std::string& type) {
    static constexpr std::array<Family, 2> known{
        {{"qwen2_vl", parse_qwen2_vl}, {"qwen2_5_vl", parse_qwen2_5_vl}}};
    return type == known.front().model_type ? &known.front() : &known.back();
  }

  const Family* without_type() {
    if (has_all(config_, {"hidden_size", "num_hidden_layers", "num_attention_heads"})) {
      config_.note(
          "no model_type: planned as a plain transformer, layers as "
          "torch.nn.TransformerEncoderLayer has them");
      return find_family("transformer");
    }
    config_.fail("model_type", "text");
    return nullptr;
  }

  const Family* inside(const std::string& type, const char* key, ConfigReader& layers) {
    layers = config_.inner(key);
    // Composite classes take a Llama where the table does not say.
    const std::string inner_type = layers.text_or({"model_type"}, "llama");
    const Family* family = find_family(inner_type);
    if (family == nullptr) family = as_llama(layers, inner_type);
    if (family != nullptr) {
      config_.note(
          fmt::format("model_type {} is not known as a whole: planned are the layers of "
                      "its {} ({}) alone",
                      shown(type), key, shown(inner_type)));
    }
    return family;
  }

  const Family* as_llama(ConfigReader& config, const std::string& type) {
    const char* foreign = foreign_key(config);
    if (looks_like_llama(config) && foreign == nullptr) {
      out_.guessed = true;
      config.note(
          fmt::format("model_type {} is not known: it has a Llama's keys and is planned "
                      "as one",
                      shown(type)));
      return find_family("llama");
    }
    const std::string why = foreign == nullptr ? "" : fmt::format(" with {}", foreign);
    std::string next = "a plan by numbers alone is \"model_type\": \"transformer\"";
    if (foreign == nullptr)
      next =
          "if it has a llama's layers, write \"model_type\": \"llama\" in a copy of its "
          "config.json; " +
          next;
    findings_.problem = Error{Errc::unsupported,
                              fmt::format("model_type: expected one of {}; found {}{}",
                                          known_families(), shown(type), why),
                              std::move(next)};
    return nullptr;
  }

  void note_what_is_left_out() {
    if (!config_.has("vision_config") && !config_.has("audio_config")) return;
    for (const Stack& stack : out_.stacks) {
      if (stack.role == Stack::Role::vision) return;
    }
    config_.note("what sees or hears (vision_config, audio_config) is not counted");
  }

  ConfigFindings findings_;
  ConfigReader config_;
  Architecture out_;
};

}  // namespace

void parse_text_model(ConfigReader& config, Architecture& out) {
  const std::string type = config.text_or({"model_type"}, "llama");
  const Family* family = find_family(type);
  if (family == nullptr) {
    config.fail("model_type", "one of " + known_families(), Errc::unsupported);
    return;
  }
  const std::size_t before = out.stacks.size();
  family->parse(config, out);
  if (!config.failed() && (out.stacks.size() != before + 1 || !out.stacks.back().causal))
    config.fail("model_type", "a decoder's", Errc::unsupported);
}

Result<Architecture> parse_architecture(const Json& config) {
  if (!config.is_object())
    return Error{Errc::invalid, "expected an object, found " + shown(&config), take_the_original};
  return ArchitectureParser(config).parse();
}

Result<Architecture> find_architecture(const std::string& name) {
  HEADROOM_TRY(const knowledge::KnownModel model, knowledge::find_model(name));
  HEADROOM_TRY(Architecture architecture, parse_architecture(model.config));
  if (model.stands_in) {
    architecture.notes.push_back(
        fmt::format("\"{}\" is planned with the layers of {}", name, model.name));
  }
  return architecture;
}

}  // namespace headroom::estimate
