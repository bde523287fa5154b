// SPDX-License-Identifier: Apache-2.0
#include "deploy/change.h"

#include <fmt/format.h>

#include <algorithm>

#include "deploy/key_edit.h"
#include "deploy/record.h"

namespace headroom::deploy {
namespace {

std::string settings_named(const TypedSet& set) {
  std::vector<std::string> names;
  if (set.image) names.push_back("image " + *set.image);
  for (const auto& [name, value] : set.environment) names.push_back(name);
  for (const std::string& device : set.devices) names.push_back(device);
  for (const std::string& group : set.groups) names.push_back("group " + group);
  if (set.memory) names.push_back("memory " + to_string(*set.memory));
  if (set.command) names.emplace_back("command");
  for (const auto& [name, value] : set.keys) names.push_back(name + " = " + value);
  return fmt::format("{}", fmt::join(names, ", "));
}

Result<std::string> text_after(const ServiceSpec& spec, const ChangeInput& input,
                               const std::optional<std::string>& before) {
  if (!input.change.set) {
    if (input.replacement) return *input.replacement;
    return Error{Errc::not_found,
                 fmt::format("{}: expected this file next to SERVICE.toml, found none",
                             input.change.with.value_or("")),
                 "create it, or name another file"};
  }
  if (!before) {
    return Error{
        Errc::not_found,
        fmt::format("{}: expected this file, to put the settings into; found none", input.path),
        "name the file that defines the service, or write it with = \"…\""};
  }
  if (!input.change.set->keys.empty())
    return edit_keys(input.path, *before, input.change.set->keys);
  HEADROOM_TRY(const FileKind kind, kind_of_file(input.path, spec.service.kind));
  return edit_text({kind, input.path, spec.service.service, input.podman_version}, *before,
                   *input.change.set);
}

// The step of an earlier change of the same file, which this one goes on from.
plan::FileEdit* edit_of(plan::Change& change, const std::string& path) {
  for (plan::Step& step : change.steps) {
    auto* edit = std::get_if<plan::FileEdit>(&step.action);
    if (edit != nullptr && edit->path == path) return edit;
  }
  return nullptr;
}

}  // namespace

Result<plan::Change> make_change(const ServiceSpec& spec, const std::vector<ChangeInput>& inputs,
                                 std::vector<std::string> words) {
  plan::Change change;
  change.fix = change_name(spec.service.name);
  change.title = "Change the configuration of " + spec.service.name;
  change.words = std::move(words);
  for (const ChangeInput& input : inputs) {
    plan::FileEdit* earlier = edit_of(change, input.path);
    HEADROOM_TRY(std::string after,
                 text_after(spec, input, earlier != nullptr ? earlier->after : input.before));
    if (earlier != nullptr) {
      earlier->after = std::move(after);
      continue;
    }
    plan::Step step;
    step.kind = plan::StepKind::write_file;
    step.what = input.change.set
                    ? fmt::format("Put {} into {}", settings_named(*input.change.set), input.path)
                    : fmt::format("Replace {} by {}", input.path, *input.change.with);
    step.action = plan::FileEdit{input.path, input.before, std::move(after), std::nullopt};
    change.steps.push_back(std::move(step));
  }
  std::erase_if(change.steps, [](const plan::Step& step) {
    const auto& edit = std::get<plan::FileEdit>(step.action);
    return edit.before == edit.after;
  });
  if (inputs.empty()) {
    return Error{
        Errc::invalid,
        "expected at least one [[change]], found none: the file only says what may be tuned",
        "add a [[change]], or run headroom tune"};
  }
  if (change.steps.empty()) {
    return Error{Errc::invalid,
                 "expected a change, found none: the files already contain the changes",
                 "change something in [[change]]"};
  }
  return change;
}

}  // namespace headroom::deploy
