// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "run/training_dialects.h"
#include "run/training_modules.h"
#include "run/training_settings.h"

namespace headroom::run {
namespace {

using Kind = ArgumentKind;
constexpr Argument arguments[] = {{"model_name_or_path", "model", Kind::word},
                                  {"stage", "stage", Kind::word},
                                  {"pref_loss", "pref_loss", Kind::word},
                                  {"finetuning_type", "finetuning_type", Kind::word},
                                  {"per_device_train_batch_size", "batch.micro"},
                                  {"gradient_accumulation_steps", "batch.accumulate"},
                                  {"cutoff_len", "batch.sequence"},
                                  {"disable_gradient_checkpointing", "no_checkpointing", Kind::yes},
                                  {"flash_attn", "flash_attn", Kind::word},
                                  {"optim", "optimizer.kind", Kind::word},
                                  {"bf16", "bf16", Kind::yes},
                                  {"fp16", "fp16", Kind::yes},
                                  {"pure_bf16", "pure_bf16", Kind::yes},
                                  {"lora_rank", "method.rank"},
                                  {"lora_alpha", "method.alpha"},
                                  {"lora_dropout", "method.dropout", Kind::real},
                                  {"lora_target", "method.targets", Kind::words},
                                  {"additional_target", "saved", Kind::words},
                                  {"enable_liger_kernel", "liger", Kind::yes},
                                  {"quantization_bit", "quantization_bit"},
                                  {"quantization_method", "quantization_method", Kind::word}};
constexpr std::string_view left_out[] = {"mixture_of_depths",
                                         "pref_ftx",
                                         "ref_model",
                                         "ref_model_adapters",
                                         "resize_vocab",
                                         "shift_attn",
                                         "upcast_layernorm",
                                         "upcast_lmhead_output",
                                         "use_apollo",
                                         "use_badam",
                                         "use_dora",
                                         "use_galore",
                                         "use_kt",
                                         "use_llama_pro",
                                         "use_muon",
                                         "use_unsloth",
                                         "use_unsloth_gc"};
constexpr std::string_view beside_the_point[] = {"dataset",
                                                 "dataset_dir",
                                                 "dataloader_num_workers",
                                                 "ddp_timeout",
                                                 "do_train",
                                                 "eval_dataset",
                                                 "eval_steps",
                                                 "eval_strategy",
                                                 "learning_rate",
                                                 "logging_steps",
                                                 "lr_scheduler_type",
                                                 "max_samples",
                                                 "num_train_epochs",
                                                 "output_dir",
                                                 "overwrite_cache",
                                                 "overwrite_output_dir",
                                                 "per_device_eval_batch_size",
                                                 "plot_loss",
                                                 "preprocessing_num_workers",
                                                 "report_to",
                                                 "resume_from_checkpoint",
                                                 "save_only_model",
                                                 "save_steps",
                                                 "template",
                                                 "trust_remote_code",
                                                 "val_size",
                                                 "warmup_ratio",
                                                 "warmup_steps",
                                                 "weight_decay"};
constexpr Dialect dialect = {arguments, left_out, beside_the_point};

// Of a setting that has one of these words, or else is not planned. `key` may be absent.
Result<Done> expect_one_of(const TrainingSettings& settings, const std::string& key,
                           std::initializer_list<std::string_view> planned) {
  const std::string word = settings.word(key);
  if (word.empty()) return Done{};
  std::string expected;
  for (const std::string_view one : planned) {
    if (word == one) return Done{};
    expected += fmt::format("{}{}", expected.empty() ? "" : " or ", one);
  }
  return wrong_value(settings.given(key), expected + ", which is all that is planned");
}

Result<Done> take_method(TrainingSettings& settings) {
  HEADROOM_CHECK(expect_one_of(settings, "stage", {"sft", "pt", "dpo"}));
  HEADROOM_CHECK(expect_one_of(settings, "finetuning_type", {"lora", "full"}));
  HEADROOM_CHECK(expect_one_of(settings, "quantization_method", {"bnb"}));
  if (settings.word("finetuning_type") == "full") {
    settings.take("method.kind", "full", "finetuning_type");
    return Done{};
  }
  if (settings.has("quantization_bit")) {
    const GivenArgument bits = settings.given("quantization_bit");
    if (bits.values.front() != "4" && bits.values.front() != "8")
      return wrong_value(bits, "4 or 8");
    settings.take("method.kind", "qlora", "quantization_bit");
    settings.take("method.base", bits.values.front() == "4" ? "nf4" : "int8", "quantization_bit");
  } else if (settings.has("finetuning_type")) {
    settings.take("method.kind", "lora", "finetuning_type");
  } else {
    settings.assume("method.kind", "lora", "LoRA, LLaMA-Factory's default");
  }
  take_saved_modules(settings);
  settings.assume_unless_given("method.rank", 8, "LoRA of rank 8, its default");
  settings.assume_unless_given("method.targets", "all-linear",
                               "adapters on every linear layer, its default");
  return Done{};
}

// What is trained is held in fp32 unless pure_bf16 says otherwise; what is frozen in the type that
// is computed in (model/adapter.py, hparams/parser.py).
void take_types(TrainingSettings& settings) {
  const bool is_full = settings.word("finetuning_type") == "full";
  const std::string from = settings.is_set("bf16") ? "bf16" : settings.is_set("fp16") ? "fp16" : "";
  if (settings.is_set("pure_bf16")) {
    if (!is_full) settings.take("method.adapter_dtype", "bf16", "pure_bf16");
    return settings.take_types("bf16", "pure_bf16", from, from);
  }
  if (!from.empty()) {
    if (is_full) settings.assume("weights in fp32 under autocast, as LLaMA-Factory trains them");
    return settings.take_types(is_full ? "fp32" : from, is_full ? "" : from, from, from);
  }
  settings.assume(is_full ? "weights in fp32, as LLaMA-Factory trains them"
                          : "frozen weights in bf16, as most models are saved");
  settings.take_types(is_full ? "fp32" : "bf16", "", "", "");
}

// train/dpo/trainer.py: TRL's trainer with a loss of its own over all logits, as TRL's was at 0.24.
// Without adapters the reference is a second model (train/trainer_utils.py, create_ref_model).
Result<Done> take_pairs(TrainingSettings& settings) {
  HEADROOM_CHECK(expect_one_of(settings, "pref_loss", {"sigmoid", "hinge", "ipo", "kto_pair"}));
  settings.take("method.trainer", "dpo", "stage");
  settings.assume("engine.trl", "0.24", "all logits at once, as LLaMA-Factory's own loss has them");
  return Done{};
}

Result<Done> take_attention(TrainingSettings& settings) {
  const std::string word = settings.word("flash_attn");
  if (word.empty() || word == "auto") return Done{};
  if (word != "disabled" && word != "sdpa" && word != "fa2" && word != "fa3")
    return wrong_value(settings.given("flash_attn"), "auto, disabled, sdpa, fa2 or fa3");
  settings.take("compute.attention",
                word == "disabled" ? "eager"
                : word == "sdpa"   ? "sdpa"
                : word == "fa2"    ? "flash_attention_2"
                                   : "flash_attention_3",
                "flash_attn");
  return Done{};
}

}  // namespace

Result<TrainingCommand> as_llama_factory(const std::vector<GivenArgument>& all,
                                         const std::string& where) {
  TrainingSettings settings;
  HEADROOM_CHECK(settings.read(all, dialect));
  HEADROOM_CHECK(settings.take_model("model_name_or_path", "write model_name_or_path: NAME"));
  settings.take_the_rest();
  HEADROOM_CHECK(take_method(settings));
  take_types(settings);
  HEADROOM_CHECK(take_attention(settings));
  if (settings.is_set("no_checkpointing")) {
    settings.take("compute.checkpointing", "none", "no_checkpointing");
  } else {
    settings.assume("compute.checkpointing", "layer",
                    "gradient checkpointing, LLaMA-Factory's default");
  }
  const bool pairs = settings.word("stage") == "dpo";
  take_liger(settings, pairs);
  if (pairs)
    HEADROOM_CHECK(take_pairs(settings));
  else
    settings.assume("compute.keep_outputs", true,
                    "logits beside the loss, as Trainer returns them");
  settings.assume_unless_given("batch.micro", 8, "a micro-batch of 8, Trainer's default");
  settings.assume_unless_given("batch.sequence", 2048,
                               "2048 tokens, where LLaMA-Factory cuts by default");
  return std::move(settings).finish(where);
}

}  // namespace headroom::run
