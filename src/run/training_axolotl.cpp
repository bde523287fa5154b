// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "base/text.h"
#include "estimate/job_words.h"
#include "run/training_dialects.h"
#include "run/training_modules.h"
#include "run/training_settings.h"

namespace headroom::run {
namespace {

using Kind = ArgumentKind;
constexpr Argument arguments[] = {{"base_model", "model", Kind::word},
                                  {"micro_batch_size", "batch.micro"},
                                  {"gradient_accumulation_steps", "batch.accumulate"},
                                  {"batch_size", "batch_size"},
                                  {"sequence_len", "batch.sequence"},
                                  {"gradient_checkpointing", "checkpointing", Kind::word},
                                  {"attn_implementation", "compute.attention", Kind::word},
                                  {"flash_attention", "flash_attention", Kind::yes},
                                  {"sdp_attention", "sdp_attention", Kind::yes},
                                  {"eager_attention", "eager_attention", Kind::yes},
                                  {"optimizer", "optimizer.kind", Kind::word},
                                  {"bf16", "bf16", Kind::word},
                                  {"fp16", "fp16", Kind::word},
                                  {"bfloat16", "bfloat16", Kind::yes},
                                  {"float16", "float16", Kind::yes},
                                  {"adapter", "adapter", Kind::word},
                                  {"load_in_4bit", "load_in_4bit", Kind::yes},
                                  {"load_in_8bit", "load_in_8bit", Kind::yes},
                                  {"lora_r", "method.rank"},
                                  {"lora_alpha", "method.alpha"},
                                  {"lora_dropout", "method.dropout", Kind::real},
                                  {"lora_target_modules", "method.targets", Kind::words},
                                  {"lora_modules_to_save", "saved", Kind::words},
                                  {"liger_rope", "liger_rope", Kind::yes},
                                  {"liger_rms_norm", "liger_rms_norm", Kind::yes},
                                  {"liger_glu_activation", "liger_glu", Kind::yes},
                                  {"liger_swiglu", "liger_glu", Kind::yes},  // Its older name.
                                  {"liger_cross_entropy", "liger_loss", Kind::yes},
                                  {"liger_fused_linear_cross_entropy", "liger_fused", Kind::yes},
                                  {"lora_target_linear", "all_linear", Kind::yes},
                                  {"precompute_ref_log_probs", "precomputed", Kind::yes},
                                  {"rl", "rl", Kind::word}};
constexpr std::string_view left_out[] = {"activation_offloading", "chunked_cross_entropy",
                                         "cut_cross_entropy",     "flex_attention",
                                         "layer_offloading",      "liger_layer_norm",
                                         "lora_mlp_kernel",       "lora_o_kernel",
                                         "lora_qkv_kernel",       "lora_target_parameters",
                                         "peft_use_dora",         "relora",
                                         "sage_attention",        "selective_checkpointing",
                                         "unfrozen_parameters",   "unsloth_cross_entropy_loss",
                                         "unsloth_lora_mlp",      "xformers_attention"};
constexpr std::string_view beside_the_point[] = {"chat_template",
                                                 "dataset_prepared_path",
                                                 "datasets",
                                                 "debug",
                                                 "early_stopping_patience",
                                                 "eval_max_new_tokens",
                                                 "eval_sample_packing",
                                                 "eval_steps",
                                                 "eval_table_size",
                                                 "evals_per_epoch",
                                                 "flash_attn_cross_entropy",
                                                 "group_by_length",
                                                 "hub_model_id",
                                                 "learning_rate",
                                                 "local_rank",
                                                 "logging_steps",
                                                 "lora_model_dir",
                                                 "lr_scheduler",
                                                 "max_steps",
                                                 "model_type",
                                                 "num_epochs",
                                                 "output_dir",
                                                 "pad_to_sequence_len",
                                                 "plugins",
                                                 "resume_from_checkpoint",
                                                 "sample_packing",
                                                 "save_first_step",
                                                 "save_safetensors",
                                                 "save_steps",
                                                 "save_total_limit",
                                                 "saves_per_epoch",
                                                 "seed",
                                                 "special_tokens",
                                                 "strict",
                                                 "tf32",
                                                 "tokenizer_type",
                                                 "train_on_inputs",
                                                 "trust_remote_code",
                                                 "val_set_size",
                                                 "wandb_entity",
                                                 "wandb_log_model",
                                                 "wandb_name",
                                                 "wandb_project",
                                                 "wandb_watch",
                                                 "warmup_ratio",
                                                 "warmup_steps",
                                                 "weight_decay"};
constexpr Dialect dialect = {arguments, left_out, beside_the_point};

bool is_on(const TrainingSettings& settings, const std::string& key) {
  return to_lower(settings.word(key)) == "true";
}

// lora_target_linear with what lora_target_modules names beside it (loaders/adapter.py).
Json all_linear_and(const TrainingSettings& settings) {
  Json all = {"q", "k", "v", "o", "gate", "up", "down"};
  const std::size_t linear = all.size();
  const Json named =
      settings.has("method.targets") ? settings.value("method.targets") : Json::array();
  for (const Json& name : named.is_array() ? named : Json::array()) {
    const auto meant = estimate::targets_of(name.get<std::string>());
    if (meant.size() == 1 && !estimate::is_in_layers(meant.front())) all.push_back(name);
  }
  return all.size() == linear ? Json("all-linear") : all;
}

Result<Done> take_method(TrainingSettings& settings) {
  const std::string adapter = settings.word("adapter");
  if (adapter.empty()) {
    settings.assume("method.kind", "full", "full fine-tuning, as there is no adapter");
    return Done{};
  }
  if (adapter != "lora" && adapter != "qlora")
    return wrong_value(settings.given("adapter"), "lora or qlora, which is all that is planned");
  for (const auto& [key, format] : {std::pair("load_in_4bit", "nf4"), {"load_in_8bit", "int8"}}) {
    if (!settings.is_set(key)) continue;
    settings.take("method.kind", "qlora", "adapter");
    settings.take("method.base", format, key);
    break;
  }
  if (!settings.is_set("load_in_4bit") && !settings.is_set("load_in_8bit"))
    settings.take("method.kind", "lora", "adapter");
  if (!settings.has("method.rank"))
    return Error{Errc::invalid, "lora_r: expected the rank of the adapters, found none",
                 "write lora_r: 16"};
  take_saved_modules(settings);
  if (settings.is_set("all_linear")) {
    settings.take("method.targets", all_linear_and(settings), "all_linear");
  } else if (!settings.has("method.targets")) {
    settings.assume("method.targets", Json::array({"q", "v"}),
                    "adapters on q and v, as PEFT does for Llama's relatives");
  }
  return Done{};
}

// "auto" is bf16 where the GPU has it, as all do that this is for (utils/config: resolve_dtype).
// bf16 and fp16 are autocast over weights of the same type; bfloat16 and float16 are not cast.
void take_types(TrainingSettings& settings) {
  const std::string bf16 = to_lower(settings.word("bf16"));
  const bool is_fp16 = is_on(settings, "fp16");
  if (bf16 == "true" || bf16 == "full" || (bf16 == "auto" && !is_fp16))
    return settings.take_types("bf16", "bf16", "bf16", "bf16");
  if (settings.is_set("bfloat16")) return settings.take_types("bf16", "bfloat16", "", "");
  if (is_fp16) return settings.take_types("fp16", "fp16", "fp16", "fp16");
  if (settings.is_set("float16")) return settings.take_types("fp16", "float16", "", "");
  if (!bf16.empty()) return settings.take_types("fp32", "", "", "");
  settings.assume("autocast to bf16 over weights in bf16, Axolotl's default");
  settings.take_types("bf16", "", "bf16", "");
}

// What it does to norms, embeddings and head (loaders/model.py: _configure_embedding_dtypes): they
// are made fp32, and narrow again for adapters and for kernels that take nothing wider.
void take_wide_embeddings(TrainingSettings& settings) {
  const std::string attention = settings.word("compute.attention");
  const bool is_narrow = settings.is_set("flash_attention") ||
                         (!attention.empty() && attention != "eager" && attention != "sdpa");
  if (!settings.word("adapter").empty() || is_narrow) return;
  settings.assume("compute.embeddings", "fp32", "embeddings, head and norms in fp32");
  settings.assume("compute.residual", "fp32", "and so what runs between the layers");
}

void take_attention(TrainingSettings& settings) {
  if (settings.has("compute.attention")) return;
  for (const auto& [key, name] : {std::pair("flash_attention", "flash_attention_2"),
                                  {"sdp_attention", "sdpa"},
                                  {"eager_attention", "eager"}}) {
    if (settings.is_set(key)) return settings.take("compute.attention", name, key);
  }
}

void take_checkpointing(TrainingSettings& settings) {
  const std::string word = to_lower(settings.word("checkpointing"));
  if (word.empty() || word == "false") {
    if (word.empty())
      settings.assume("compute.checkpointing", "none",
                      "no gradient checkpointing, Axolotl's default");
    return;
  }
  settings.take("compute.checkpointing", "layer", "checkpointing");
  if (word != "true") settings.leave_out("gradient_checkpointing: " + word);
}

// "axolotl.integrations.liger.LigerPlugin" among plugins: without it nobody reads liger_… keys.
bool has_liger(const std::vector<GivenArgument>& all) {
  bool found = false;
  for (const GivenArgument& given : all) {
    if (bare_name(given.name.empty() ? given.option : given.name) != "plugins") continue;
    found = std::any_of(given.values.begin(), given.values.end(), [](const std::string& plugin) {
      return trim(plugin).ends_with("LigerPlugin");
    });
  }
  return found;
}

// integrations/liger/plugin.py: each kernel by a key of its own, off where it is not there.
void take_kernels(TrainingSettings& settings, bool is_there, bool prefers) {
  constexpr std::pair<const char*, const char*> kernels[] = {
      {"liger_rope", "rope"},          {"liger_rms_norm", "rms_norm"},
      {"liger_glu", "swiglu"},         {"liger_glu", "geglu"},
      {"liger_loss", "cross_entropy"}, {"liger_fused", "fused_linear_cross_entropy"}};
  const char* first = nullptr;
  Json config = Json::object();
  for (const auto& [key, name] : kernels) {
    const bool on = settings.is_set(key);
    if (on && prefers && is_there && name != std::string_view("geglu"))
      settings.leave_out(settings.given(key).option);
    if (on && first == nullptr) first = key;
    config[name] = on;
  }
  if (first == nullptr) return;
  if (!is_there)
    return settings.assume("liger_… without effect, as LigerPlugin is not among the plugins");
  if (prefers) return;
  settings.take("compute.use_liger_kernel", true, first);
  settings.take("compute.liger_kernel_config", config, first);
}

Result<Done> take_batch(TrainingSettings& settings) {
  settings.assume_unless_given("batch.micro", 1, "a micro-batch of 1, its default");
  settings.assume_unless_given("batch.sequence", 512, "512 tokens, its default");
  if (settings.has("batch_size") && !settings.has("batch.accumulate"))
    return wrong_value(settings.given("batch_size"),
                       "gradient_accumulation_steps, as Axolotl advises");
  return Done{};
}

}  // namespace

Result<TrainingCommand> as_axolotl(const std::vector<GivenArgument>& all,
                                   const std::string& where) {
  TrainingSettings settings;
  HEADROOM_CHECK(settings.read(all, dialect));
  const bool pairs = settings.word("rl") == "dpo";
  if (settings.has("rl") && !pairs)
    return wrong_value(settings.given("rl"), "dpo or none, which is all that is planned");
  HEADROOM_CHECK(settings.take_model("base_model", "write base_model: NAME"));
  settings.take_the_rest();
  HEADROOM_CHECK(take_method(settings));
  take_types(settings);
  take_wide_embeddings(settings);
  take_attention(settings);
  take_checkpointing(settings);
  take_kernels(settings, has_liger(all), pairs);
  HEADROOM_CHECK(take_batch(settings));
  if (pairs) {
    settings.take("method.trainer", "dpo", "rl");
    if (settings.is_set("precomputed"))
      settings.take("method.precompute_ref_log_probs", true, "precomputed");
  } else {
    settings.assume("compute.keep_outputs", true,
                    "logits beside the loss, as Trainer returns them");
  }
  settings.assume_unless_given("optimizer.kind", "adamw_torch_fused", "AdamW, fused, its default");
  return std::move(settings).finish(where);
}

}  // namespace headroom::run
