// SPDX-License-Identifier: Apache-2.0
#include "plan/boot/image_based.h"

#include <fmt/format.h>

#include "base/text.h"
#include "plan/boot/command_line_words.h"
#include "plan/boot/next_boot.h"
#include "plan/boot/rescue.h"

namespace headroom::plan {
namespace {

// Every word of that name that the default deployment has, which rpm-ostree starts from; where its
// entry could not be read, the kernel that runs.
std::vector<std::string> words_now(const BootSubject& subject, const std::string& name) {
  const facts::Text next = next_command_line(subject);
  if (next) return find_arguments(*next, name);
  std::vector<std::string> words;
  for (const facts::ModuleOption& option : subject.machine.options) {
    if (!is_kernel_argument(option)) continue;
    if (argument_name(option.module + "." + option.key) == argument_name(name)) {
      words.push_back(option.source.text);
    }
  }
  return words;
}

}  // namespace

Result<BootSteps> plan_by_rpm_ostree(const BootSubject& subject, const ArgumentChange& change) {
  Command command;
  command.argv = {"rpm-ostree", "kargs"};
  command.undo = command.argv;
  std::vector<std::string> restored;
  const auto drop = [&](const std::string& name, const std::string& wanted) {
    for (const std::string& word : words_now(subject, name)) {
      if (word == wanted) continue;
      command.argv.push_back("--delete-if-present=" + word);
      restored.push_back("--append-if-missing=" + word);
    }
  };
  for (const std::string& name : change.drop) drop(name, "");
  for (const std::string& word : change.set) {
    const auto now = words_now(subject, argument_name(word));
    drop(argument_name(word), word);
    if (now.size() == 1 && now[0] == word) continue;
    command.argv.push_back("--append-if-missing=" + word);
    command.undo.push_back("--delete-if-present=" + word);
  }
  BootSteps steps;
  if (command.argv.size() == 2) return steps;
  command.undo.insert(command.undo.end(), restored.begin(), restored.end());
  command.undo_run = UndoRun::always;  // Deployments are no files that could be restored.
  steps.steps.push_back({StepKind::kernel_argument,
                         "Change the kernel command line of the next deployment",
                         "rpm-ostree creates a new deployment and leaves the present one as it is.",
                         command,
                         {},
                         true});
  steps.fallback = BootFallback::by_hand;
  steps.rescue = {
      "In the boot menu, choose the previous deployment (the entry that ends in ostree:1). It has "
      "the old command line.",
      "Then: sudo rpm-ostree rollback, or sudo headroom undo {id}",
  };
  steps.notes.emplace_back(
      "The present deployment stays in the boot menu, with the old command line.");
  return steps;
}

BootSteps plan_for_nixos(const ArgumentChange& change) {
  std::string text;
  if (!change.set.empty()) {
    std::vector<std::string> quoted;
    for (const std::string& word : change.set) {
      std::string escaped;
      for (const char c : word) {
        if (c == '"' || c == '\\' || c == '$') escaped += '\\';
        escaped += c;
      }
      quoted.push_back('"' + escaped + '"');
    }
    text +=
        "Add to /etc/nixos/configuration.nix (or to the flake that this machine is built "
        "from):\n\n";
    text += fmt::format("  boot.kernelParams = [ {} ];\n\n", join(quoted, " "));
  }
  if (!change.drop.empty()) {
    text += fmt::format("Remove every word that begins with {} from boot.kernelParams.\n\n",
                        join(change.drop, " or "));
  }
  text += "Then run sudo nixos-rebuild boot.";
  BootSteps steps;
  steps.steps.push_back(
      {StepKind::by_hand,
       "Change the kernel command line in configuration.nix",
       "NixOS generates its boot entries from this file. An edit anywhere else would be lost.",
       Instruction{text},
       {},
       true});
  steps.fallback = BootFallback::by_hand;
  steps.rescue = {
      "In the boot menu, choose the previous generation. It has the old command line.",
      "Then remove the words from configuration.nix again, and run: sudo nixos-rebuild boot"};
  return steps;
}

}  // namespace headroom::plan
