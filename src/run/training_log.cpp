// SPDX-License-Identifier: Apache-2.0
#include "run/training_log.h"

#include <fmt/format.h>

#include <optional>
#include <utility>
#include <vector>

#include "base/document.h"
#include "base/text.h"
#include "knowledge/models.h"
#include "run/job_file.h"
#include "run/log_words.h"
#include "run/trained_parameters.h"
#include "run/training_dialects.h"
#include "run/training_recipe.h"

namespace headroom::run {
namespace {

constexpr const char* name_a_model =
    "add the model: headroom plan --from LOG --model NAME, or its folder";

// The model that own options name, as text for an argument; empty: none.
std::string own_model(const JobFlags& own) {
  if (!own.names_model()) return "";
  const Json& model = own.keys["model"];
  const Json& value = model.contains("config") ? model["config"] : model["name"];
  return value.is_string() ? value.get<std::string>() : value.dump();
}

// Of a model of our table that has exactly as many parameters as the run had beside its adapters.
Result<std::optional<std::string>> model_of_size(const TrainingLines& lines) {
  if (!lines.all || !lines.trainable) return std::optional<std::string>();
  HEADROOM_TRY(const auto models, knowledge::load_models());
  for (const std::uint64_t beside : {lines.trainable->count, std::uint64_t{0}})
    for (const knowledge::KnownModel& one : models)
      if (one.parameters + beside == lines.all->count) return std::optional(one.name);
  return std::optional<std::string>();
}

Result<GivenArgument> model_of(const TrainingLines& lines, const JobFlags& own) {
  const std::string name = "model_name_or_path";
  if (const std::string given = own_model(own); !given.empty())
    return GivenArgument{"--model", {given}, name, 0};
  if (lines.config)
    return GivenArgument{"Model config", {lines.config->text}, name, lines.config->line};
  if (lines.named)
    return GivenArgument{
        "the files that were loaded", {model_at(lines.named->text)}, name, lines.named->line};
  HEADROOM_TRY(const auto found, model_of_size(lines));
  if (found)
    return GivenArgument{
        fmt::format("{} parameters in all", lines.all->count), {*found}, name, lines.all->line};
  return Error{Errc::invalid,
               "expected a log that shows its model (transformers prints it with "
               "TRANSFORMERS_VERBOSITY=info), found none",
               name_a_model};
}

// The model alone, to be asked how many parameters it has.
Result<LoadedJob> load_model(const GivenArgument& model) {
  JobFlags flags;
  const std::string& text = model.values.front();
  if (text.starts_with('{')) {
    HEADROOM_TRY(Json config, parse_json(text));
    flags.set("model.config", std::move(config), model.place());
  } else {
    const bool local = text.starts_with('/') || text.starts_with('.');
    flags.set(local ? "model.config" : "model.name", text, model.place());
  }
  flags.set("batch.micro", 1, "");
  flags.set("batch.sequence", 8, "");
  auto loaded = load_job("", flags);
  if (!loaded && model.line > 0) {
    Error error = std::move(loaded).error();
    error.next = name_a_model;
    return error;
  }
  return loaded;
}

std::string value_in(const std::vector<GivenArgument>& all, std::string_view name) {
  std::string value;
  for (const GivenArgument& one : all)
    if (one.name == name) value = join(one.values, ",");
  return value;
}

// What the log says by the program's names, and what of it is a guess.
struct Settings {
  std::vector<GivenArgument> all;
  std::vector<std::string> notes;
};

// Adapters, where fewer parameters are trained than the model has.
Result<Done> add_adapters(const TrainingLines& lines, const LoadedJob& model, const JobFlags& own,
                          Settings& settings) {
  if (!lines.trainable || own.flags.contains("method.kind") || own.flags.contains("method.rank"))
    return Done{};
  std::vector<GivenArgument>& all = settings.all;
  const auto& [trained, line] = *lines.trainable;
  HEADROOM_TRY(const std::uint64_t whole, trained_parameters(model, ""));
  // A vocabulary may have got new rows since the config was printed.
  constexpr double nearly_all = 0.95;
  if (static_cast<double>(trained) >= nearly_all * static_cast<double>(whole)) return Done{};
  const std::string option = fmt::format("{} trained parameters", trained);
  all.push_back({option, {"true"}, "use_peft", line});
  const std::string rank = value_in(all, "lora_r");
  const std::string targets =
      value_in(all, lines.is_llama_factory ? "lora_target" : "lora_target_modules");
  if (!rank.empty() && !targets.empty()) return Done{};
  const auto found = find_adapters(model, trained, targets);
  if (found.empty())
    return Error{
        Errc::invalid,
        fmt::format("line {}: {} of {} parameters are trained, which no rank of LoRA gives "
                    "on the usual modules",
                    line, trained, whole),
        "add what is trained: --method lora --rank N --targets q,k,v,o"};
  const Adapters& first = found.front();
  all.push_back({option, {std::to_string(first.rank)}, "lora_r", line});
  if (targets.empty()) all.push_back({option, {first.targets}, "lora_target_modules", line});
  std::vector<std::string> others;
  for (std::size_t i = 1; i < found.size(); ++i)
    others.push_back(fmt::format("rank {} on {}", found[i].rank, found[i].targets));
  if (!others.empty())
    settings.notes.push_back(
        fmt::format("As many parameters are trained with {}: --rank and --targets decide.",
                    join(others, ", ")));
  return Done{};
}

// The settings by the names that the program has for them.
std::vector<GivenArgument> named_for(const TrainingLines& lines) {
  std::vector<GivenArgument> all;
  for (const PrintedSetting& one : lines.settings) {
    GivenArgument given = one.given;
    if (lines.is_llama_factory) {
      // TrainingArguments that it prints have the same names there.
      const bool is_own = !one.llama_factory.empty();
      if (is_own) given.name = one.llama_factory;
      if (!one.llama_factory_word.empty()) given.values = {std::string(one.llama_factory_word)};
      if (!is_own && given.name == "dtype") continue;
      if (given.name == "finetuning_type") given.values = {to_lower(given.values.front())};
    }
    if (!given.name.empty()) all.push_back(std::move(given));
  }
  return all;
}

// `model`: where it is known better than by its name in the settings.
Result<TrainingCommand> by_axolotl(const TrainingLines& lines,
                                   const std::optional<GivenArgument>& model,
                                   const std::string& where) {
  auto all = parse_recipe(lines.axolotl->text);
  if (!all) return std::move(all).error().in(fmt::format("line {}", lines.axolotl->line));
  for (GivenArgument& one : *all) one.line = lines.axolotl->line;
  if (model) {
    all->push_back(*model);
    all->back().name = "base_model";
  }
  HEADROOM_TRY(TrainingCommand command, as_axolotl(*all, where));
  command.program = TrainingProgram::axolotl;
  return command;
}

Result<TrainingCommand> by_llama_factory(std::vector<GivenArgument> all, const std::string& where) {
  // What was found out of the counts, by its names.
  for (GivenArgument& one : all) {
    if (one.name == "lora_r") one.name = "lora_rank";
    if (one.name == "lora_target_modules") one.name = "lora_target";
    if (one.name == "lora_modules_to_save") one.name = "additional_target";
    if (one.name == "use_peft" && value_in(all, "finetuning_type").empty())
      one = {one.option, {"lora"}, "finetuning_type", one.line};
  }
  std::erase_if(all, [](const GivenArgument& one) { return one.name == "use_peft"; });
  HEADROOM_TRY(TrainingCommand command, as_llama_factory(all, where));
  command.program = TrainingProgram::llama_factory;
  return command;
}

// What a printed config says of how the weights are held: bitsandbytes quantises while it loads,
// and from transformers 5 on a model has the type that it was saved in.
Result<Done> add_storage(const TrainingLines& lines, std::vector<GivenArgument>& all) {
  if (!lines.config) return Done{};
  HEADROOM_TRY(const Json config, parse_json(lines.config->text));
  if (!config.is_object()) return Done{};
  const auto text = [&config](const char* key) {
    const auto found = config.find(key);
    return found != config.end() && found->is_string() ? found->get<std::string>() : std::string();
  };
  const auto add = [&](std::string value, const char* name) {
    all.push_back({"Model config", {std::move(value)}, name, lines.config->line});
  };
  const std::string type = text("dtype").empty() ? text("torch_dtype") : text("dtype");
  const bool as_saved = parse_u64(text("transformers_version").substr(0, 1)).value_or(0) >= 5;
  if (as_saved && !type.empty() && value_in(all, "dtype").empty()) add(type, "dtype");
  const auto stored = config.find("quantization_config");
  if (stored == config.end() || !stored->is_object()) return Done{};
  for (const auto& [key, bits] : {std::pair("load_in_4bit", "4"), {"load_in_8bit", "8"}}) {
    if (stored->value(key, Json()) != true) continue;
    if (lines.is_llama_factory)
      add(bits, "quantization_bit");
    else
      add("true", key);
  }
  return Done{};
}

// Weights that were quantised before the run are held as the checkpoint has them.
void keep_stored(const LoadedJob& model, TrainingCommand& command) {
  if (!model.model.stored || model.model.stored->method == "bitsandbytes") return;
  command.flags.keys["method"].erase("base");
  command.flags.flags.erase("method.base");
}

// Trainer says that it casts, but not to which type.
bool has_half(const TrainingLines& lines, const std::vector<GivenArgument>& all) {
  return lines.half && value_in(all, "bf16").empty() && value_in(all, "fp16").empty();
}

// What the log shows and the plan does not follow.
void add_notes(const TrainingLines& lines, TrainingCommand& command) {
  const Json& batch = command.flags.keys["batch"];
  const std::uint64_t each =
      batch.value("micro", std::uint64_t{1}) * batch.value("accumulate", std::uint64_t{1});
  if (lines.total && each > 0 && lines.total->count > each)
    command.notes.push_back(fmt::format(
        "Planned: one of {} processes. Each holds the whole model; buffers for their gradients' "
        "average are not counted (a step has {} samples, line {}).",
        lines.total->count / each, lines.total->count, lines.total->line));
  if (lines.half && has_half(lines, named_for(lines)) && !lines.axolotl)
    command.notes.push_back("Assumed: autocast to bf16, as Trainer does not print to which type.");
  if (lines.unsloth)
    command.notes.push_back(fmt::format(
        "Left out, and memory depends on it: Unsloth's kernels (line {}).", lines.unsloth->line));
}

// transformers writes its own version into a config that it prints.
void take_version(const TrainingLines& lines, const JobFlags& own, TrainingCommand& command) {
  if (!lines.config || own.flags.contains("engine.transformers")) return;
  const auto config = parse_json(lines.config->text);
  if (!config || !config->is_object()) return;
  const auto version = config->find("transformers_version");
  if (version == config->end() || !version->is_string()) return;
  command.flags.set("engine.transformers", *version, "transformers_version");
  command.notes.push_back(fmt::format("transformers {} by the config that was printed (line {}).",
                                      version->get<std::string>(), lines.config->line));
}

}  // namespace

Result<TrainingCommand> to_training_command(const TrainingLines& lines, const JobFlags& own,
                                            const std::string& where) {
  Settings settings{named_for(lines), {}};
  std::vector<GivenArgument>& all = settings.all;
  std::optional<GivenArgument> model;
  // Axolotl's settings name the model themselves.
  if (!lines.axolotl || own.names_model() || lines.config) {
    HEADROOM_TRY(model, model_of(lines, own));
  }
  std::optional<TrainingCommand> command;
  if (lines.axolotl) {
    HEADROOM_TRY(command, by_axolotl(lines, model, where));
  } else {
    if (has_half(lines, all))
      all.push_back({"half precision backend", {"true"}, "bf16", lines.half->line});
    HEADROOM_CHECK(add_storage(lines, all));
    HEADROOM_TRY(const LoadedJob loaded, load_model(*model));
    HEADROOM_CHECK(add_adapters(lines, loaded, own, settings));
    all.push_back(*std::move(model));
    HEADROOM_TRY(command, lines.is_llama_factory ? by_llama_factory(std::move(all), where)
                                                 : as_trainer(all, TrainerSource::log, where));
    keep_stored(loaded, *command);
  }
  command->notes.insert(command->notes.end(), settings.notes.begin(), settings.notes.end());
  add_notes(lines, *command);
  take_version(lines, own, *command);
  return *std::move(command);
}

}  // namespace headroom::run
