// SPDX-License-Identifier: Apache-2.0
#include "run/tune_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "base/text.h"
#include "run/training_recipe.h"
#include "run/training_settings.h"

namespace headroom::run {
namespace {

constexpr std::array<std::string_view, 4> planned = {
    "full_finetune_distributed", "full_finetune_single_device", "lora_finetune_distributed",
    "lora_finetune_single_device"};
// Of torchrun's options those without a value (torch/distributed/run.py).
constexpr std::array<std::string_view, 7> switches = {
    "m", "module", "no_python", "run_path", "standalone", "tee_stdout", "enable_static_rdzv"};

// torchrun's options up to the recipe, which is the first word that belongs to none of them.
Result<std::size_t> read_launcher(const std::vector<std::string>& words, std::size_t from,
                                  TuneCommand& command) {
  std::size_t i = from;
  for (; i < words.size() && words[i].starts_with('-'); ++i) {
    const std::size_t equals = words[i].find('=');
    const std::string option = words[i].substr(0, equals);
    const std::string name = bare_name(option);
    std::string value = equals == std::string::npos ? "" : words[i].substr(equals + 1);
    const bool is_switch = std::find(switches.begin(), switches.end(), name) != switches.end();
    if (equals == std::string::npos && !is_switch && i + 1 < words.size()) value = words[++i];
    if ((name == "nproc_per_node" || name == "nnodes") && value != "1")
      return spread_over_processes(option);
    command.launcher.push_back(option);
  }
  if (i < words.size()) return i;
  return Error{Errc::invalid, "tune run: expected the name of a recipe, found none",
               "headroom plan -- tune run lora_finetune_single_device --config FILE.yaml"};
}

Result<Done> check_recipe(const std::string& recipe) {
  if (recipe.ends_with(".py")) return Done{};
  if (std::find(planned.begin(), planned.end(), recipe) != planned.end()) return Done{};
  return Error{
      Errc::invalid,
      fmt::format("tune run: expected {}, or a script of one's own, found \"{}\"",
                  join(std::vector<std::string>(planned.begin(), planned.end()), ", "), recipe),
      "plan one of these, with the settings that the recipe shares with it"};
}

bool is_at(const std::string& option, const std::string& key) {
  return option == key || option.starts_with(key + ".");
}

std::vector<std::string> values_in(const std::string& value) {
  if (!value.starts_with('[') || !value.ends_with(']')) return {value};
  std::vector<std::string> values;
  const std::string_view inside = std::string_view(value).substr(1, value.size() - 2);
  for (const std::string_view part : split(inside, ',')) {
    std::string one(trim(part));
    if (one.size() >= 2 && (one.front() == '\'' || one.front() == '"'))
      one = one.substr(1, one.size() - 2);
    if (!one.empty()) values.push_back(one);
  }
  return values;
}

// "key=value" in the place of what the file says, "~key" for leaving it out.
Result<Done> add_override(const std::string& word, std::vector<GivenArgument>& all) {
  const bool removes = word.starts_with('~');
  const std::size_t equals = word.find('=');
  std::string key = word.substr(removes ? 1 : 0,
                                equals == std::string::npos ? equals : equals - (removes ? 1 : 0));
  if (key.empty() || key.starts_with('-') || (equals == std::string::npos && !removes))
    return Error{
        Errc::invalid,
        fmt::format("tune run: expected key=value or ~key behind the recipe, found \"{}\"", word),
        "write it as in batch_size=2 or model.lora_rank=16"};
  const std::string value = removes ? "" : word.substr(equals + 1);
  // A component is replaced by its name alone; its other settings stay.
  if (std::any_of(all.begin(), all.end(),
                  [&](const GivenArgument& one) { return one.option == key + "._component_"; }) &&
      !removes)
    key += "._component_";
  const bool is_null = removes || value == "None" || value == "null";
  std::erase_if(all, [&](const GivenArgument& one) { return is_at(one.option, key); });
  if (!is_null) all.push_back({key, values_in(value)});
  return Done{};
}

// "${output_dir}/logs", by what the other settings are. What is nowhere stays as it is.
void resolve(std::vector<GivenArgument>& all) {
  const auto value_at = [&all](const std::string& key) -> std::optional<std::string> {
    const auto found = std::find_if(all.begin(), all.end(), [&](const GivenArgument& one) {
      return one.option == key && one.values.size() == 1;
    });
    return found == all.end() ? std::nullopt : std::optional(found->values.front());
  };
  for (GivenArgument& given : all) {
    for (std::string& value : given.values) {
      constexpr int depth_max = 4;  // A setting may name one that names another.
      for (int depth = 0; depth < depth_max; ++depth) {
        const std::size_t begin = value.find("${");
        const std::size_t end = value.find('}', begin);
        if (begin == std::string::npos || end == std::string::npos) break;
        const auto meant = value_at(value.substr(begin + 2, end - begin - 2));
        if (!meant || meant->size() + value.size() > 4096) break;
        value.replace(begin, end - begin + 1, *meant);
      }
    }
  }
}

}  // namespace

Result<TuneCommand> read_tune_command(const std::vector<std::string>& words, std::size_t from) {
  TuneCommand command;
  HEADROOM_TRY(const std::size_t at, read_launcher(words, from, command));
  command.recipe = words[at];
  HEADROOM_CHECK(check_recipe(command.recipe));
  std::vector<std::string> overrides;
  for (std::size_t i = at + 1; i < words.size(); ++i) {
    if (words[i] == "--config" && i + 1 < words.size())
      command.config = words[++i];
    else
      overrides.push_back(words[i]);
  }
  if (command.config.empty())
    return Error{Errc::invalid, "tune run: expected --config FILE.yaml, found none",
                 "headroom plan -- tune run lora_finetune_single_device --config FILE.yaml"};
  if (!is_recipe_name(command.config))
    return Error{
        Errc::invalid,
        fmt::format("--config: expected a YAML file, found \"{}\", which is in torchtune's "
                    "own folder",
                    command.config),
        fmt::format("tune cp {} my_config.yaml, and then --config my_config.yaml", command.config)};
  HEADROOM_TRY(command.all, read_nested_recipe(command.config));
  for (const std::string& word : overrides) HEADROOM_CHECK(add_override(word, command.all));
  resolve(command.all);
  return command;
}

}  // namespace headroom::run
