// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "run/training_dialects.h"
#include "run/training_modules.h"
#include "run/training_settings.h"

namespace headroom::run {
namespace {

using Kind = ArgumentKind;
constexpr Argument arguments[] = {{"model_name_or_path", "model", Kind::word},
                                  {"per_device_train_batch_size", "batch.micro"},
                                  {"gradient_accumulation_steps", "batch.accumulate"},
                                  {"max_seq_length", "batch.sequence"},
                                  {"max_length", "batch.sequence"},
                                  {"block_size", "batch.sequence"},
                                  {"model_max_length", "batch.sequence"},
                                  {"gradient_checkpointing", "checkpointing", Kind::yes},
                                  {"attn_implementation", "compute.attention", Kind::word},
                                  {"optim", "optimizer.kind", Kind::word},
                                  {"bf16", "bf16", Kind::yes},
                                  {"fp16", "fp16", Kind::yes},
                                  {"torch_dtype", "dtype", Kind::word},
                                  {"dtype", "dtype", Kind::word},
                                  {"use_peft", "use_peft", Kind::yes},
                                  {"use_lora", "use_peft", Kind::yes},
                                  {"lora_r", "method.rank"},
                                  {"lora_alpha", "method.alpha"},
                                  {"lora_dropout", "method.dropout", Kind::real},
                                  {"lora_target_modules", "method.targets", Kind::words},
                                  {"lora_modules_to_save", "saved", Kind::words},
                                  {"use_liger_kernel", "liger", Kind::yes},
                                  {"liger_kernel_config", "liger_config", Kind::table},
                                  {"load_in_4bit", "load_in_4bit", Kind::yes},
                                  {"load_in_8bit", "load_in_8bit", Kind::yes},
                                  {"beta", "beta", Kind::real},
                                  {"loss_type", "loss_type", Kind::words},
                                  {"precompute_ref_log_probs", "precomputed", Kind::yes},
                                  {"max_prompt_length", "max_prompt_length"},
                                  {"max_completion_length", "completion"},
                                  {"num_generations", "num_generations"},
                                  {"steps_per_generation", "steps_per_generation"},
                                  {"num_iterations", "num_iterations"},
                                  {"use_vllm", "use_vllm", Kind::yes},
                                  {"vllm_mode", "vllm_mode", Kind::word},
                                  {"vllm_gpu_memory_utilization", "vllm_share", Kind::real}};
constexpr std::string_view left_out[] = {"activation_offloading", "use_dora"};
constexpr Dialect dialect = {arguments, left_out, {}};

// Whose trainer a script has, by the arguments that no other one reads.
std::string trainer_of(const TrainingSettings& settings) {
  if (settings.has("num_generations") || settings.has("num_iterations") ||
      settings.has("steps_per_generation") || settings.is_set("use_vllm"))
    return "grpo";
  return settings.has("beta") || settings.has("precomputed") ? "dpo" : "sft";
}

void take_preference(TrainingSettings& settings, const std::string& trainer) {
  const bool generates = trainer == "grpo";
  settings.assume("method.trainer", trainer, generates ? "TRL's GRPOTrainer" : "TRL's DPOTrainer");
  const auto take = [&settings](const char* table, const char* key) {
    const bool has = settings.has(key);
    if (has) settings.take(std::string(table) + "." + key, settings.value(key), key);
    return has;
  };
  take("method", "beta");
  const bool says_prompt = take("batch", "max_prompt_length");
  const bool says_length = settings.has("batch.sequence");
  if (settings.has("completion") && !says_length)
    settings.take("batch.max_completion_length", settings.value("completion"), "completion");
  if (!generates) {
    if (settings.is_set("precomputed"))
      settings.take("method.precompute_ref_log_probs", true, "precomputed");
    return;
  }
  take("batch", "steps_per_generation");
  take("batch", "num_iterations");
  if (!says_prompt)
    settings.assume("batch.max_prompt_length", 512,
                    "prompts of 512 tokens: the command does not say how long they are");
  if (!says_length && !settings.has("completion"))
    settings.assume("batch.max_completion_length", 512, "answers of 512 tokens, TRL's default");
  if (!take("batch", "num_generations"))
    settings.assume("batch.num_generations", 8, "8 answers a prompt, TRL's default");
  if (!settings.is_set("use_vllm")) return;
  if (settings.word("vllm_mode") == "server") return settings.leave_out("--vllm_mode server");
  settings.take("method.use_vllm", true, "use_vllm");
  if (settings.has("vllm_share"))
    settings.take("method.vllm_gpu_memory_utilization", settings.value("vllm_share"), "vllm_share");
}

// Weights keep the type in which they are loaded; --bf16 and --fp16 are autocast over it.
Result<Done> take_types(TrainingSettings& settings, TrainerSource source) {
  const bool is_trl = source == TrainerSource::trl;
  std::string held = "fp32";
  if (settings.has("dtype")) {
    held = type_named(settings.word("dtype"));
    if (held.empty()) return wrong_value(settings.given("dtype"), "bfloat16, float16 or float32");
  } else if (!is_trl) {
    settings.assume(
        "what is not quantised in fp32, as transformers 4 loads it (5 as it was saved)");
  }
  const bool by_default = is_trl && !settings.has("bf16") && !settings.is_set("fp16");
  const std::string from = settings.is_set("bf16") ? "bf16" : settings.is_set("fp16") ? "fp16" : "";
  if (by_default) settings.assume("autocast to bf16, TRL's default");
  settings.take_types(held, settings.has("dtype") ? "dtype" : "", by_default ? "bf16" : from, from);
  return Done{};
}

void take_method(TrainingSettings& settings, TrainerSource source) {
  if (settings.is_set("load_in_4bit")) {
    settings.take("method.kind", "qlora", "load_in_4bit");
    settings.take("method.base", "nf4", "load_in_4bit");
  } else if (settings.is_set("load_in_8bit")) {
    settings.take("method.kind", "qlora", "load_in_8bit");
    settings.take("method.base", "int8", "load_in_8bit");
  } else if (settings.is_set("use_peft")) {
    settings.take("method.kind", "lora", "use_peft");
  } else {
    settings.assume("method.kind", "full",
                    source == TrainerSource::log ? "full fine-tuning"
                                                 : "full fine-tuning, as --use_peft is not there");
    return;
  }
  take_saved_modules(settings);
  settings.assume_unless_given("method.rank", 16, "LoRA of rank 16, TRL's default");
  settings.assume_unless_given("method.dropout", 0.05, "a LoRA dropout of 0.05, TRL's default");
  settings.assume_unless_given("method.targets", Json::array({"q", "v"}),
                               "adapters on q and v, as PEFT does for Llama's relatives");
}

void take_checkpointing(TrainingSettings& settings, TrainerSource source) {
  const bool is_trl = source == TrainerSource::trl;
  if (settings.is_set("checkpointing")) {
    settings.take("compute.checkpointing", "layer", "checkpointing");
  } else if (is_trl && !settings.has("checkpointing")) {
    settings.assume("compute.checkpointing", "layer", "gradient checkpointing, TRL's default");
  } else if (!settings.has("checkpointing")) {
    settings.assume("compute.checkpointing", "none",
                    source == TrainerSource::log
                        ? "no gradient checkpointing, as the log does not speak of it "
                          "(--checkpointing layer)"
                        : "no gradient checkpointing (recent releases of TRL have it on by "
                          "default)");
  }
}

}  // namespace

bool trainer_reads(std::string_view name) {
  const bool known = std::any_of(std::begin(arguments), std::end(arguments),
                                 [name](const Argument& one) { return one.name == name; });
  return known || name == "fsdp" || name == "deepspeed" ||
         std::find(std::begin(left_out), std::end(left_out), name) != std::end(left_out);
}

Result<TrainingCommand> as_trainer(const std::vector<GivenArgument>& all, TrainerSource source,
                                   const std::string& where, std::string trainer) {
  TrainingSettings settings;
  HEADROOM_CHECK(settings.read(all, dialect));
  const bool is_log = source == TrainerSource::log;
  if (trainer.empty()) trainer = is_log ? "sft" : trainer_of(settings);
  const bool prefers = trainer != "sft";
  if (prefers) source = TrainerSource::trl;  // A script of those has its defaults as well.
  const bool is_trl = source == TrainerSource::trl;
  HEADROOM_CHECK(settings.take_model(
      "--model_name_or_path",
      "a model that the script names in its code: headroom plan --model NAME ..."));
  settings.take_the_rest();
  take_method(settings, source);
  HEADROOM_CHECK(take_types(settings, source));
  take_checkpointing(settings, source);
  take_liger(settings, prefers);
  if (prefers)
    take_preference(settings, trainer);
  else
    settings.assume("compute.keep_outputs", true,
                    "logits beside the loss, as Trainer returns them");
  settings.assume_unless_given("batch.micro", 8, "a micro-batch of 8, Trainer's default");
  const bool by_answer = trainer == "grpo" || (prefers && settings.has("completion"));
  if (!by_answer)
    settings.assume_unless_given(
        "batch.sequence", 1024,
        is_trl   ? "1024 tokens, where TRL truncates"
        : is_log ? "1024 tokens: the log does not say how long samples are (--sequence N)"
                 : "1024 tokens: the command does not say how long samples are");
  if (is_log)
    settings.assume_unless_given("optimizer.kind", "adamw_torch_fused",
                                 "AdamW, fused, as the log does not speak of it (--optimizer)");
  return std::move(settings).finish(where);
}

}  // namespace headroom::run
