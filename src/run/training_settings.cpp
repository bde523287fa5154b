// SPDX-License-Identifier: Apache-2.0
#include "run/training_settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/document.h"
#include "base/text.h"
#include "run/model_files.h"

namespace headroom::run {
namespace {

bool is_off(const GivenArgument& given) {
  const std::string text = to_lower(join(given.values, " "));
  return text == "false" || text == "0" || text == "no" || text == "off" || text == "none";
}

bool names(std::span<const std::string_view> all, std::string_view name) {
  return std::find(all.begin(), all.end(), name) != all.end();
}

// Of names beside others: PEFT and LLaMA-Factory know the word for all of them by itself alone.
bool leave_out_all(Json& names) {
  if (!names.is_array() || names.size() < 2) return false;
  Json kept = Json::array();
  for (const Json& name : names)
    if (name != "all-linear" && name != "all") kept.push_back(name);
  if (kept.empty() || kept.size() == names.size()) return false;
  names = std::move(kept);
  return true;
}

}  // namespace

Error spread_over_processes(const std::string& option) {
  return {Errc::invalid,
          fmt::format("{}: expected a job on one card, found one that is spread over processes, "
                      "which is not planned",
                      option),
          "leave the argument out to plan one card alone"};
}

Result<Done> TrainingSettings::read(const std::vector<GivenArgument>& all, const Dialect& dialect) {
  for (const GivenArgument& given : all) {
    const std::string name = given.name.empty() ? bare_name(given.option) : given.name;
    if ((name.starts_with("fsdp") || name.starts_with("deepspeed")) && !is_off(given))
      return spread_over_processes(given.place());
    if (names(dialect.beside_the_point, name)) continue;
    if (names(dialect.left_out, name)) {
      if (!is_off(given)) left_out_.push_back(given.place());
      continue;
    }
    const auto known = std::find_if(dialect.arguments.begin(), dialect.arguments.end(),
                                    [&name](const Argument& one) { return one.name == name; });
    if (known == dialect.arguments.end()) {
      if (given.line == 0) unread_.push_back(given.option);
      unread_in_log_ += given.line == 0 ? 0 : 1;
      continue;
    }
    HEADROOM_TRY(Json value, value_of(given, known->kind));
    if (known->kind == ArgumentKind::words && leave_out_all(value))
      assumed_.push_back(given.place() + ": \"all-linear\" beside other names is no module's name");
    found_[std::string(known->key)] = {std::move(value), given.place()};
  }
  return Done{};
}

bool TrainingSettings::is_set(const std::string& key) const {
  const auto at = found_.find(key);
  return at != found_.end() && at->second.value == true;
}

std::string TrainingSettings::word(const std::string& key) const {
  const auto at = found_.find(key);
  return at != found_.end() && at->second.value.is_string() ? at->second.value.get<std::string>()
                                                            : std::string();
}

GivenArgument TrainingSettings::given(const std::string& key) const {
  const Found& found = found_.at(key);
  return {found.option,
          {found.value.is_string() ? found.value.get<std::string>() : found.value.dump()}};
}

void TrainingSettings::take(const std::string& key, const Json& value, const std::string& from) {
  const std::string& option = found_.at(from).option;
  command_.flags.set(key, value, option);
  taken_.push_back(fmt::format("{} = {} from {}", key, value.dump(), option));
}

void TrainingSettings::take_the_rest() {
  for (const auto& [key, one] : found_)
    if (key.find('.') != std::string::npos) take(key, one.value, key);
}

Result<Done> TrainingSettings::take_model(std::string_view name, std::string next) {
  const std::string model = word("model");
  if (model.empty())
    return Error{Errc::invalid, fmt::format("plan: expected {} in the command, found none", name),
                 std::move(next)};
  // A config that was printed stands for the model itself.
  if (model.starts_with('{')) {
    HEADROOM_TRY(Json config, parse_json(model));
    const std::string& option = found_.at("model").option;
    command_.flags.set("model.config", std::move(config), option);
    taken_.push_back("the model from " + option);
    return Done{};
  }
  const bool local = is_model(model) || model.starts_with('/') || model.starts_with('.');
  take(local ? "model.config" : "model.name", model, "model");
  return Done{};
}

void TrainingSettings::take_types(const std::string& held, const std::string& held_from,
                                  const std::string& cast, const std::string& cast_from) {
  if (!held_from.empty())
    taken_.push_back(fmt::format("weights in {} from {}", held, found_.at(held_from).option));
  const std::string held_by = held_from.empty() ? "dtype" : found_.at(held_from).option;
  command_.flags.set("compute.dtype", held, held_by);
  if (!cast.empty()) {
    if (cast_from.empty()) {
      command_.flags.set("compute.autocast", true, "autocast");
    } else {
      take("compute.autocast", true, cast_from);
    }
    command_.flags.set("compute.dtype", cast, cast_from.empty() ? "dtype" : cast_from);
  }
  const auto method = command_.flags.keys.find("method");
  if (method == command_.flags.keys.end() || !method->contains("base"))
    command_.flags.set("method.base", held, held_by);
}

void TrainingSettings::assume(const std::string& key, const Json& value, const std::string& words) {
  command_.flags.set(key, value, key);
  assumed_.push_back(words);
}

TrainingCommand TrainingSettings::finish(const std::string& where) && {
  std::vector<std::string>& notes = command_.notes;
  notes.push_back(fmt::format("Taken from {}: {}.", where, join(taken_, ", ")));
  if (!assumed_.empty()) notes.push_back(fmt::format("Assumed: {}.", join(assumed_, "; ")));
  if (!left_out_.empty())
    notes.push_back(
        fmt::format("Left out, although memory depends on it: {}.", join(left_out_, ", ")));
  if (unread_in_log_ > 0)
    notes.push_back(fmt::format("Ignored: {} other settings that the log shows.", unread_in_log_));
  if (!unread_.empty()) notes.push_back(fmt::format("Ignored: {}.", join(unread_, ", ")));
  return std::move(command_);
}

std::string type_named(std::string_view name) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 8> types = {
      {{"bfloat16", "bf16"},
       {"bf16", "bf16"},
       {"float16", "fp16"},
       {"fp16", "fp16"},
       {"half", "fp16"},
       {"float32", "fp32"},
       {"fp32", "fp32"},
       {"float", "fp32"}}};
  const auto at = std::find_if(types.begin(), types.end(),
                               [name](const auto& one) { return one.first == name; });
  return at == types.end() ? std::string() : std::string(at->second);
}

}  // namespace headroom::run
