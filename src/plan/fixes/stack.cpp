// SPDX-License-Identifier: Apache-2.0
// stack: the requirements and the environment of a stack that is known to carry this machine's
// card, written into a folder that the user names, or told. Nothing is downloaded or installed.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "findings/stack_advice.h"
#include "plan/diagnosed.h"
#include "plan/fixes/every_fix.h"
#include "plan/fixes/places.h"
#include "plan/fixes/stack_choice.h"

namespace headroom::plan {
namespace {

constexpr std::string_view id = "stack";

// Where only root writes. The user has named the folder, so any other place is taken for their own.
bool is_of_the_system(std::string_view path) {
  constexpr std::array folders = {"/usr/", "/opt/", "/etc/", "/var/lib/", "/srv/"};
  return std::any_of(folders.begin(), folders.end(),
                     [&](const char* folder) { return path.starts_with(folder); });
}

Step write(const FixSubject& subject, const std::string& path, std::string text, std::string what) {
  Step step;
  step.kind = StepKind::environment;
  step.what = std::move(what);
  step.action = FileEdit{path, std::nullopt, std::move(text), std::nullopt};
  step.needs_root = needs_root(subject.options, path) && is_of_the_system(path);
  return step;
}

// How to get the Python that the wheels exist for, where the system has another.
std::string where_python_is_missing(const FixSubject& subject, const StackChoice& choice) {
  const std::string version = choice.python.substr(std::string_view("python").size());
  std::string text = fmt::format(
      "If there is no {0}: uv venv --seed --python {1} venv, in place of "
      "{0} -m venv venv. uv (https://docs.astral.sh/uv) downloads that Python.",
      choice.python, version);
  const auto& distribution = subject.facts.machine.distribution_id;
  const bool debian = distribution && (distribution->find("debian") != std::string::npos ||
                                       distribution->find("ubuntu") != std::string::npos);
  if (debian) {
    text += fmt::format(" If it has no module venv: sudo apt install {}-venv", choice.python);
  }
  return text;
}

// Fedora packages every Python beside its own. Empty elsewhere.
std::string get_python(const FixSubject& subject, const StackChoice& choice) {
  const auto& distribution = subject.facts.machine.distribution_id;
  const bool fedora = distribution && distribution->find("fedora") != std::string::npos;
  return fedora && choice.python != "python3" ? "sudo dnf install " + choice.python : "";
}

Result<Change> make(const FixSubject& subject) {
  HEADROOM_TRY(const StackChoice choice, choose_stack(subject));
  std::string folder = subject.options.output;
  while (folder.size() > 1 && folder.ends_with('/')) folder.pop_back();
  if (!folder.empty() && !folder.starts_with('/')) {
    return Error{Errc::invalid,
                 fmt::format("stack: expected a full path, found --output {}", folder),
                 fmt::format("headroom fix stack --output \"$PWD/{}\"", folder)};
  }
  Change change;
  change.fix = id;
  change.title = fmt::format("Set up {} for {}", choice.requirement, choice.gpu);
  change.words = subject.options.words;
  change.notes = choice.remarks;
  if (choice.python != "python3") {
    change.notes.push_back(where_python_is_missing(subject, choice));
  }
  const std::string shown = folder.empty() ? fmt::format("headroom-{}", choice.gfx) : folder;
  if (folder.empty()) {
    auto commands = commands_of(choice, shown, WrittenBy::the_user);
    if (const std::string get = get_python(subject, choice); !get.empty()) {
      commands.insert(commands.begin(), get);
    }
    change.steps.push_back(by_hand("Create the environment:\n" + join(commands, "\n")));
    change.notes.push_back("To let headroom write the files: headroom fix stack --output \"$HOME/" +
                           shown + "\" --apply");
    return change;
  }
  change.steps.push_back(write(subject, folder + "/requirements.txt", requirements_of(choice),
                               fmt::format("Write {}/requirements.txt", folder)));
  change.steps.push_back(
      write(subject, folder + "/env", environment_of(choice), fmt::format("Write {}/env", folder)));
  change.notes.push_back("Then:\n" + join(commands_of(choice, shown, WrittenBy::headroom), "\n"));
  return change;
}

// Where check found that what is installed does not carry the card; elsewhere it is there to be
// asked for.
bool applies(const FixSubject& subject) {
  const bool found =
      std::any_of(findings::mended_by_stack.begin(), findings::mended_by_stack.end(),
                  [&](std::string_view one) { return is_diagnosed(subject.diagnosis, one); });
  return found && choose_stack(subject).has_value();
}

}  // namespace

constinit const Fix stack_fix = {
    .id = id,
    .meaning =
        "Writes requirements.txt and environment variables of a stack that supports this card.",
    .takes = "--output FOLDER",
    .applies = applies,
    .plan = make,
};

}  // namespace headroom::plan
