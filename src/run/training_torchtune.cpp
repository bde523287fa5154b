// SPDX-License-Identifier: Apache-2.0
// torchtune's recipes. A component ("model", "optimizer", "loss") is a table whose _component_
// names a function of Python; what is known of these functions stands in the tables below, and
// another one is named, never guessed.
#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "base/text.h"
#include "run/model_files.h"
#include "run/training_dialects.h"
#include "run/training_settings.h"

namespace headroom::run {
namespace {

using Kind = ArgumentKind;
constexpr Argument arguments[] = {{"model_named", "model", Kind::word},
                                  {"checkpointer.checkpoint_dir", "model", Kind::word},
                                  {"batch_size", "batch.micro"},
                                  {"gradient_accumulation_steps", "batch.accumulate"},
                                  {"tokenizer.max_seq_len", "batch.sequence"},
                                  {"enable_activation_checkpointing", "checkpointing", Kind::yes},
                                  {"dtype", "dtype", Kind::word},
                                  {"device", "device", Kind::word},
                                  {"model._component_", "builder", Kind::word},
                                  {"model.lora_attn_modules", "attention_modules", Kind::words},
                                  {"model.apply_lora_to_mlp", "on_mlp", Kind::yes},
                                  {"model.apply_lora_to_output", "on_output", Kind::yes},
                                  {"model.lora_rank", "method.rank"},
                                  {"model.lora_alpha", "method.alpha", Kind::real},
                                  {"model.lora_dropout", "method.dropout", Kind::real},
                                  {"model.quantize_base", "quantize_base", Kind::yes},
                                  {"optimizer._component_", "optimizer", Kind::word},
                                  {"optimizer.fused", "fused", Kind::yes},
                                  {"optimizer_in_bwd", "in_backward", Kind::yes},
                                  {"optimizer.momentum", "momentum", Kind::real},
                                  {"loss._component_", "loss", Kind::word},
                                  {"tensor_parallel_dim", "tensor_parallel"}};
constexpr std::string_view left_out[] = {"compile", "dataset.packed",
                                         "enable_activation_offloading", "model.use_dora",
                                         "resize_token_embeddings"};
constexpr std::string_view beside_the_point[] = {"batch_size_val",
                                                 "clip_grad_norm",
                                                 "collate_fn",
                                                 "cudnn_deterministic_mode",
                                                 "enable_async_checkpointing",
                                                 "epochs",
                                                 "log_every_n_steps",
                                                 "log_level",
                                                 "log_peak_memory_stats",
                                                 "loss",
                                                 "low_cpu_ram",
                                                 "max_steps_per_epoch",
                                                 "model",
                                                 "optimizer",
                                                 "optimizer.lr",
                                                 "optimizer.weight_decay",
                                                 "output_dir",
                                                 "resume_from_checkpoint",
                                                 "run_val_every_n_steps",
                                                 "save_adapter_weights_only",
                                                 "save_every_n_steps",
                                                 "seed",
                                                 "shuffle"};
constexpr Dialect dialect = {arguments, left_out, beside_the_point};
// Tables of which at most the settings above matter.
constexpr std::string_view tables_beside_the_point[] = {
    "checkpointer",  "dataset",  "dataset_val", "lr_scheduler",
    "metric_logger", "profiler", "tokenizer"};

// torchtune/models/*/_model_builders.py, without "lora_", "qlora_", "_base" and "_instruct": a
// model of the same shapes.
using Named = std::pair<std::string_view, std::string_view>;
constexpr Named models[] = {{"gemma2_27b", "google/gemma-2-27b"},
                            {"gemma2_2b", "google/gemma-2-2b"},
                            {"gemma2_9b", "google/gemma-2-9b"},
                            {"gemma_2b", "google/gemma-2b"},
                            {"gemma_7b", "google/gemma-7b"},
                            {"llama2_13b", "meta-llama/Llama-2-13b-hf"},
                            {"llama2_70b", "meta-llama/Llama-2-70b-hf"},
                            {"llama2_7b", "meta-llama/Llama-2-7b-hf"},
                            {"llama3_1_405b", "meta-llama/Llama-3.1-405B"},
                            {"llama3_1_70b", "meta-llama/Llama-3.1-70B"},
                            {"llama3_1_8b", "meta-llama/Llama-3.1-8B"},
                            {"llama3_2_1b", "meta-llama/Llama-3.2-1B"},
                            {"llama3_2_3b", "meta-llama/Llama-3.2-3B"},
                            {"llama3_3_70b", "meta-llama/Llama-3.1-70B"},
                            {"llama3_70b", "meta-llama/Llama-3.1-70B"},
                            {"llama3_8b", "meta-llama/Meta-Llama-3-8B"},
                            {"mistral_7b", "mistralai/Mistral-7B-v0.1"},
                            {"phi3_mini", "microsoft/Phi-3-mini-4k-instruct"},
                            {"phi4_14b", "microsoft/phi-4"},
                            {"qwen2_0_5b", "Qwen/Qwen2.5-0.5B"},
                            {"qwen2_1_5b", "Qwen/Qwen2.5-1.5B"},
                            {"qwen2_5_0_5b", "Qwen/Qwen2.5-0.5B"},
                            {"qwen2_5_14b", "Qwen/Qwen2.5-14B"},
                            {"qwen2_5_1_5b", "Qwen/Qwen2.5-1.5B"},
                            {"qwen2_5_32b", "Qwen/Qwen2.5-32B"},
                            {"qwen2_5_3b", "Qwen/Qwen2.5-3B"},
                            {"qwen2_5_72b", "Qwen/Qwen2.5-72B"},
                            {"qwen2_5_7b", "Qwen/Qwen2.5-7B"},
                            {"qwen2_7b", "Qwen/Qwen2.5-7B"},
                            {"qwen3_0_6b", "Qwen/Qwen3-0.6B"},
                            {"qwen3_14b", "Qwen/Qwen3-14B"},
                            {"qwen3_1_7b", "Qwen/Qwen3-1.7B"},
                            {"qwen3_32b", "Qwen/Qwen3-32B"},
                            {"qwen3_4b", "Qwen/Qwen3-4B"},
                            {"qwen3_8b", "Qwen/Qwen3-8B"}};
constexpr Named optimizers[] = {{"bitsandbytes.optim.AdamW8bit", "adamw8bit"},
                                {"bitsandbytes.optim.PagedAdamW", "adamw"},
                                {"bitsandbytes.optim.PagedAdamW8bit", "adamw8bit"},
                                {"torch.optim.Adam", "adamw"},
                                {"torch.optim.AdamW", "adamw"},
                                {"torch.optim.SGD", "sgd"}};
constexpr Named modules[] = {
    {"k_proj", "k_proj"}, {"output_proj", "o_proj"}, {"q_proj", "q_proj"}, {"v_proj", "v_proj"}};

std::string_view value_of(std::span<const Named> table, std::string_view name) {
  const auto* const found = std::find_if(table.data(), table.data() + table.size(),
                                         [name](const Named& one) { return one.first == name; });
  return found == table.data() + table.size() ? std::string_view() : found->second;
}

// "lora_llama3_1_8b" of "torchtune.models.llama3_1.lora_llama3_1_8b".
struct Builder {
  std::string name;  // Without what it does with adapters.
  bool adapters = false;
  bool quantised = false;
};

Builder builder_of(const std::string& component) {
  Builder builder;
  std::string_view name = std::string_view(component).substr(component.rfind('.') + 1);
  builder.quantised = name.starts_with("qlora_");
  builder.adapters = builder.quantised || name.starts_with("lora_");
  if (builder.adapters) name.remove_prefix(name.find('_') + 1);
  for (const std::string_view end : {"_base", "_instruct"})
    if (name.ends_with(end)) name.remove_suffix(end.size());
  builder.name = name;
  return builder;
}

bool matters(const GivenArgument& given) {
  const std::string_view table = std::string_view(given.option).substr(0, given.option.find('.'));
  if (std::find(std::begin(tables_beside_the_point), std::end(tables_beside_the_point), table) ==
      std::end(tables_beside_the_point))
    return true;
  return given.option == "tokenizer.max_seq_len" || given.option == "dataset.packed" ||
         (given.option == "checkpointer.checkpoint_dir" && !given.values.empty() &&
          is_model(given.values.front()));
}

// The model by its folder, if that is on this machine, else by its builder.
std::vector<GivenArgument> with_model(const std::vector<GivenArgument>& all) {
  std::vector<GivenArgument> kept;
  for (const GivenArgument& given : all) {
    if (given.option == "model._component_" && given.values.size() == 1) {
      const std::string_view name = value_of(models, builder_of(given.values.front()).name);
      if (!name.empty()) kept.push_back({given.option, {std::string(name)}, "model_named"});
    }
  }
  for (const GivenArgument& given : all)
    if (matters(given)) kept.push_back(given);
  return kept;
}

Result<Done> take_targets(TrainingSettings& settings) {
  Json targets = Json::array();
  if (settings.has("attention_modules")) {
    for (const Json& module : settings.value("attention_modules")) {
      const std::string_view name = value_of(modules, module.get<std::string>());
      if (name.empty())
        return wrong_value(settings.given("attention_modules"),
                           "a list of q_proj, k_proj, v_proj and output_proj");
      targets.push_back(name);
    }
  }
  if (settings.is_set("on_mlp"))
    for (const char* name : {"gate_proj", "up_proj", "down_proj"}) targets.push_back(name);
  if (settings.is_set("on_output")) targets.push_back("lm_head");
  if (targets.empty())
    return Error{Errc::invalid, "model.lora_attn_modules: expected names of modules, found none",
                 "write model.lora_attn_modules=[q_proj,v_proj]"};
  settings.take("method.targets", targets,
                settings.has("attention_modules") ? "attention_modules"
                : settings.is_set("on_mlp")       ? "on_mlp"
                                                  : "on_output");
  return Done{};
}

Result<Done> take_method(TrainingSettings& settings, const std::string& recipe) {
  const Builder builder = builder_of(settings.word("builder"));
  const bool whole = recipe.starts_with("full_");
  if (whole == builder.adapters && (whole || recipe.starts_with("lora_")))
    return wrong_value(settings.given("builder"),
                       whole ? "a model without adapters, as the recipe trains all of it"
                             : "a model that begins with lora_ or qlora_, as the recipe trains "
                               "adapters");
  if (!builder.adapters) {
    settings.take("method.kind", "full", "builder");
    return Done{};
  }
  const bool quantised = builder.quantised || settings.is_set("quantize_base");
  settings.take("method.kind", quantised ? "qlora" : "lora", "builder");
  if (quantised)
    settings.take("method.base", "nf4-dq", builder.quantised ? "builder" : "quantize_base");
  HEADROOM_CHECK(take_targets(settings));
  settings.assume_unless_given("method.rank", 8, "LoRA of rank 8, the default of its models");
  settings.assume_unless_given("method.alpha", 16, "a LoRA alpha of 16, their default");
  settings.assume_unless_given("method.dropout", 0.0, "no LoRA dropout, their default");
  return Done{};
}

// Everything has one type: weights, activations, gradients, states and adapters.
Result<Done> take_types(TrainingSettings& settings) {
  const std::string type = type_named(settings.word("dtype"));
  if (type != "bf16" && type != "fp32")
    return settings.has("dtype")
               ? wrong_value(settings.given("dtype"), "bf16 or fp32, which its recipes train in")
               : Error{Errc::invalid, "dtype: expected bf16 or fp32, found none",
                       "write dtype: bf16, as every recipe of torchtune has it"};
  if (builder_of(settings.word("builder")).adapters)
    settings.take("method.adapter_dtype", type, "dtype");
  settings.take_types(type, "dtype", "", "");
  return Done{};
}

Result<Done> take_optimizer(TrainingSettings& settings) {
  if (settings.is_set("in_backward"))
    return Error{Errc::unsupported,
                 "optimizer_in_bwd: expected False, found True: steps within backward are not "
                 "planned",
                 "add optimizer_in_bwd=False behind the recipe: the plan then has a gradient for "
                 "each weight more"};
  const std::string component = settings.word("optimizer");
  if (component.empty())
    return Error{Errc::invalid, "optimizer._component_: expected an optimizer, found none",
                 "write optimizer._component_: torch.optim.AdamW"};
  const std::string_view kind = value_of(optimizers, component);
  if (kind.empty())
    return wrong_value(settings.given("optimizer"),
                       "torch.optim.AdamW, Adam or SGD, or bitsandbytes.optim.AdamW8bit, "
                       "PagedAdamW8bit or PagedAdamW, which is all that is planned");
  settings.take("optimizer.kind", kind, "optimizer");
  if (kind == "adamw" && settings.is_set("fused")) settings.take("optimizer.fused", true, "fused");
  if (kind == "sgd" && settings.has("momentum"))
    settings.take("optimizer.momentum", true, "momentum");
  if (component.find("Paged") != std::string::npos) {
    settings.take("optimizer.offload", true, "optimizer");
    settings.assume(
        "paged states in host memory; the driver keeps them on the card while there is room");
  }
  return Done{};
}

void take_loss(TrainingSettings& settings) {
  const std::string component = settings.word("loss");
  if (component.ends_with(".LinearCrossEntropyLoss"))
    return settings.take("compute.loss", "linear-chunks", "loss");
  settings.leave_out(component.empty() ? "the loss, which was not given" : "loss " + component);
}

void take_checkpointing(TrainingSettings& settings) {
  if (settings.has("checkpointing"))
    return settings.take("compute.checkpointing",
                         settings.is_set("checkpointing") ? "layer" : "none", "checkpointing");
  settings.assume("compute.checkpointing", "none",
                  "no activation checkpointing, the default of its recipes");
}

}  // namespace

Result<TrainingCommand> as_torchtune(const std::vector<GivenArgument>& all,
                                     const std::string& recipe, const std::string& where) {
  TrainingSettings settings;
  HEADROOM_CHECK(settings.read(with_model(all), dialect));
  if (!settings.has("builder"))
    return Error{Errc::invalid, "model._component_: expected a model's builder, found none",
                 "write model._component_: torchtune.models.llama3_1.lora_llama3_1_8b"};
  if (settings.has("tensor_parallel") && settings.given("tensor_parallel").values.front() != "1")
    return spread_over_processes("tensor_parallel_dim");
  if (settings.word("model").empty())
    return wrong_value(settings.given("builder"),
                       "a model that is known, or a checkpointer.checkpoint_dir on this machine "
                       "with its config.json");
  HEADROOM_CHECK(settings.take_model("model", ""));
  settings.take_the_rest();
  HEADROOM_CHECK(take_method(settings, recipe));
  HEADROOM_CHECK(take_types(settings));
  take_checkpointing(settings);
  HEADROOM_CHECK(take_optimizer(settings));
  take_loss(settings);
  settings.assume("compute.attention", "sdpa", "attention without a mask, as samples are padded");
  settings.assume("every token has a label; a loss over fewer needs less");
  settings.assume(
      "layers as transformers has them: of torchtune's own, rotary embeddings in fp32 and repeated "
      "keys and values are not counted");
  settings.assume_unless_given(
      "batch.sequence", 1024,
      "1024 tokens: the recipe does not say how long samples are (tokenizer.max_seq_len)");
  return std::move(settings).finish(where);
}

}  // namespace headroom::run
