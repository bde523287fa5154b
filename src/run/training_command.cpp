// SPDX-License-Identifier: Apache-2.0
#include "run/training_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <utility>

#include "base/text.h"
#include "run/command_words.h"
#include "run/training_dialects.h"
#include "run/training_recipe.h"
#include "run/training_settings.h"
#include "run/tune_command.h"

namespace headroom::run {
namespace {

using Program = TrainingProgram;

struct Place {
  Program program = Program::script;
  std::size_t arguments = 0;  // The first word behind the program and its subcommand.
  std::string trainer = {};   // "dpo", where the program or the script is named so; or empty.
};

// What TRL trains by, and the scripts of which the names tell it.
constexpr std::array<std::string_view, 3> trainers = {"sft", "dpo", "grpo"};
constexpr std::array<std::string_view, 7> not_planned = {"kto",  "orpo",   "cpo", "ppo",
                                                         "rloo", "reward", "nash"};

bool is_one_of(std::span<const std::string_view> names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// The words of a script's name: "train_dpo.py" is train, dpo and py.
std::vector<std::string> words_of(std::string_view path) {
  std::string name = to_lower(base_name(path));
  std::replace_if(
      name.begin(), name.end(), [](char c) { return c == '_' || c == '-' || c == '.'; }, ' ');
  std::vector<std::string> words;
  for (const auto word : split_words(name)) words.emplace_back(word);
  return words;
}

std::string trainer_named(std::string_view script) {
  for (const std::string& word : words_of(script))
    if (is_one_of(trainers, word) || is_one_of(not_planned, word)) return word;
  return "";
}

std::optional<Program> program_named(std::string_view name) {
  if (name == "axolotl") return Program::axolotl;
  if (name == "llamafactory-cli" || name == "lmf") return Program::llama_factory;
  if (name == "trl") return Program::trl;
  if (name == "tune") return Program::torchtune;
  return std::nullopt;
}

// Programs with a word of their own for training, started by their names.
std::optional<Place> find_program(const std::vector<std::string>& words) {
  const std::size_t at = program_at(words);
  if (at + 1 >= words.size()) return std::nullopt;
  const auto program = program_named(base_name(words[at]));
  if (!program) return std::nullopt;
  const std::string& task = words[at + 1];
  if (program == Program::trl) {
    if (!is_one_of(trainers, task) && !is_one_of(not_planned, task)) return std::nullopt;
    return Place{*program, at + 2, task};
  }
  if (task != (program == Program::torchtune ? "run" : "train")) return std::nullopt;
  return Place{*program, at + 2};
}

// A script, or the module of "-m" that is no launcher.
std::optional<Place> find_script(const std::vector<std::string>& words) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i].ends_with(".py")) return Place{Program::script, i + 1, trainer_named(words[i])};
    if (words[i] != "-m" || i + 1 >= words.size() || words[i + 1].starts_with("torch.") ||
        words[i + 1].starts_with("accelerate."))
      continue;
    const bool is_axolotl = words[i + 1] == "axolotl.cli.train";
    return Place{is_axolotl ? Program::axolotl : Program::script, i + 2};
  }
  return std::nullopt;
}

struct Settings {
  std::vector<GivenArgument> all;
  std::string recipe;  // Its path; empty: there is none.
};

// The recipe, where the program's own rule finds one, and over it what the command line says:
// behind the program's word ("axolotl train FILE --lora-r 8", "llamafactory-cli train FILE
// lora_rank=8"), or as --config (trl/scripts/utils.py: TrlParser).
Result<Settings> read_settings(const std::vector<std::string>& words, const Place& place) {
  Settings settings;
  std::size_t from = place.arguments;
  const bool takes_file =
      place.program == Program::axolotl || place.program == Program::llama_factory;
  if (takes_file && from < words.size() && is_recipe_name(words[from]))
    settings.recipe = words[from++];
  std::vector<GivenArgument> typed = split_arguments(words, from);
  for (; from < words.size() && place.program == Program::llama_factory; ++from) {
    const std::size_t equals = words[from].find('=');
    if (words[from].starts_with('-') || equals == std::string::npos) break;
    typed.push_back({words[from].substr(0, equals), {words[from].substr(equals + 1)}});
  }
  const auto config = std::find_if(typed.begin(), typed.end(), [](const GivenArgument& one) {
    return one.option == "--config" && one.values.size() == 1 && is_recipe_name(one.values.front());
  });
  if (!takes_file && config != typed.end()) {
    settings.recipe = config->values.front();
    typed.erase(config);
  }
  if (!settings.recipe.empty()) {
    HEADROOM_TRY(settings.all, read_recipe(settings.recipe));
  }
  settings.all.insert(settings.all.end(), typed.begin(), typed.end());
  return settings;
}

Result<TrainingCommand> read_by(const Place& place, const Settings& settings) {
  const std::string where = settings.recipe.empty() ? "the command" : settings.recipe;
  if (is_one_of(not_planned, place.trainer))
    return Error{Errc::unsupported,
                 fmt::format("plan: expected training by sft, dpo or grpo, found {}, which is not "
                             "planned",
                             place.trainer),
                 "plan the pass through the model alone: headroom plan --model NAME --method ..."};
  switch (place.program) {
    case Program::axolotl:
      return as_axolotl(settings.all, where);
    case Program::llama_factory:
      return as_llama_factory(settings.all, where);
    case Program::trl:
      return as_trainer(settings.all, TrainerSource::trl, where, place.trainer);
    case Program::torchtune:  // read_torchtune() has it.
    case Program::script:
      break;
  }
  return as_trainer(settings.all, TrainerSource::script, where, place.trainer);
}

// What stands before the program: refused where it spreads the job, else named.
Result<Done> add_launcher(const std::vector<std::string>& words, const Place& place,
                          TrainingCommand& command) {
  const auto end = words.begin() + static_cast<std::ptrdiff_t>(place.arguments);
  std::vector<std::string> launcher;
  for (const GivenArgument& given : split_arguments({words.begin(), end}, 0)) {
    const std::string name = bare_name(given.option);
    if (name == "use_fsdp" || name == "use_deepspeed") return spread_over_processes(given.option);
    launcher.push_back(given.option);
  }
  if (!launcher.empty())
    command.notes.push_back(fmt::format("Ignored, for the launcher: {}.", join(launcher, ", ")));
  return Done{};
}

Result<TrainingCommand> read_torchtune(const std::vector<std::string>& words, std::size_t from) {
  HEADROOM_TRY(const TuneCommand tune, read_tune_command(words, from));
  auto command = as_torchtune(tune.all, tune.recipe, tune.config);
  if (!command) return Error(command.error()).in(tune.config);
  if (tune.recipe.ends_with(".py"))
    command->notes.push_back(
        fmt::format("{} is taken for a copy of a recipe of torchtune's own.", tune.recipe));
  if (tune.recipe.ends_with("_distributed"))
    command->notes.push_back(
        "The recipe shards the model over its processes; planned is one process alone, without "
        "what FSDP adds.");
  if (!tune.launcher.empty())
    command->notes.push_back(
        fmt::format("Ignored, for the launcher: {}.", join(tune.launcher, ", ")));
  command->program = Program::torchtune;
  command->recipe = tune.config;
  return command;
}

}  // namespace

bool is_training_program(const std::vector<std::string>& words) {
  return find_program(words).has_value();
}

Result<TrainingCommand> parse_training_command(const std::vector<std::string>& words) {
  auto place = find_program(words);
  if (!place) place = find_script(words);
  if (!place)
    return Error{Errc::invalid, "plan: expected a Python script or -m MODULE in the command",
                 "headroom plan -- python train.py --model_name_or_path NAME ..."};
  if (place->program == Program::torchtune) return read_torchtune(words, place->arguments);
  HEADROOM_TRY(const Settings settings, read_settings(words, *place));
  auto command = read_by(*place, settings);
  if (!command)
    return settings.recipe.empty() ? command.error() : Error(command.error()).in(settings.recipe);
  HEADROOM_CHECK(add_launcher(words, *place, *command));
  command->program = place->program;
  command->recipe = settings.recipe;
  return command;
}

}  // namespace headroom::run
