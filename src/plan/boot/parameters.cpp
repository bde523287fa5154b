// SPDX-License-Identifier: Apache-2.0
// Where a module parameter is set: where it is set already; else the kernel command line, which
// wins over any file, needs no new initramfs and can be tried for one boot; else modprobe.d.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "findings/advice.h"
#include "plan/boot/boot_steps.h"
#include "plan/boot/command_line_words.h"
#include "plan/boot/grub_environment.h"
#include "plan/boot/kernel_cmdline_file.h"
#include "plan/boot/loader_entry.h"
#include "plan/boot/modprobe_files.h"
#include "plan/boot/module_options.h"
#include "plan/boot/next_boot.h"
#include "plan/boot/shell_assignments.h"

namespace headroom::plan {
namespace {

bool is_nixos(const facts::BootSetup& boot) {
  return boot.command_line && *boot.command_line == facts::CommandLineTool::nixos;
}

bool is_option(const facts::ModuleOption& option, const ParameterChange& parameter) {
  return argument_name(option.module + "." + option.key) == argument_name(parameter.name());
}

// On the command line of the next boot as its files are now, or anywhere in what they are made
// from; of this boot as well where those files do not tell for sure.
bool on_command_line(const BootSubject& subject, const ParameterChange& parameter) {
  const auto among = [&](const std::vector<facts::ModuleOption>& options) {
    return std::any_of(options.begin(), options.end(), [&](const facts::ModuleOption& option) {
      return is_kernel_argument(option) && is_option(option, parameter);
    });
  };
  const facts::Text next = next_command_line(subject);
  if (!is_certain(next) && among(subject.machine.options)) return true;
  if (among(facts::parse_cmdline(next))) return true;
  const auto has = [&](std::string_view text) {
    return !find_arguments(text, parameter.name()).empty();
  };
  for (const facts::ConfigFile& file : subject.boot.files) {
    if (!file.path.starts_with("/etc/default/grub")) continue;
    for (const Assignment& at : find_assignments(file.text)) {
      if (!at.name.starts_with("GRUB_CMDLINE_LINUX")) continue;
      const auto raw = std::string_view(file.text).substr(at.begin, at.end - at.begin);
      if (has(unquote_value(raw))) return true;
    }
  }
  for (const facts::ConfigFile* entry : linux_entries(subject.boot)) {
    if (has(entry_options(entry->text))) return true;
  }
  const facts::ConfigFile* later = subject.boot.file(kernel_cmdline_path);
  return has(later == nullptr ? "" : later->text) ||
         has(environment_value(subject.boot, "kernelopts").value_or(""));
}

bool in_files(const BootSubject& subject, const ParameterChange& parameter) {
  const auto files = modprobe_files(subject.boot);
  if (std::any_of(files.begin(), files.end(), [&](const facts::ConfigFile* file) {
        return sets_parameter(file->text, parameter);
      })) {
    return true;
  }
  // NixOS keeps its files in the store, where they are not looked for; the machine's facts know.
  const auto& options = subject.machine.options;
  return is_nixos(subject.boot) &&
         std::any_of(options.begin(), options.end(), [&](const facts::ModuleOption& option) {
           return !is_kernel_argument(option) && is_option(option, parameter);
         });
}

// What goes where.
struct Split {
  ArgumentChange arguments;
  std::vector<ParameterChange> files;        // Now.
  std::vector<ParameterChange> files_later;  // What the command line overrides until then.
};

class Splitter {
 public:
  Splitter(const BootSubject& subject, const std::vector<ParameterChange>& changes, Via via)
      : subject_(subject), changes_(changes), via_(via) {}

  Split split() const {
    Split split;
    for (const ParameterChange& change : changes_) {
      const bool words = on_command_line(subject_, change);
      const bool files = in_files(subject_, change);
      if (!change.value) {
        if (words) split.arguments.drop.push_back(change.name());
        if (files) split.files.push_back(change);
      } else if (goes_to_command_line(change, words, files)) {
        split.arguments.set.push_back(change.name() + "=" + *change.value);
        if (files) split.files_later.push_back({change.module, change.key, std::nullopt});
      } else {
        split.files.push_back(change);
        if (words) split.arguments.drop.push_back(change.name());
      }
    }
    return split;
  }

 private:
  bool goes_to_command_line(const ParameterChange& change, bool words, bool files) const {
    if (via_ != Via::automatic) return via_ == Via::kernel_arguments;
    if (words || subject_.boot.image_based) return true;
    return !files && !has_company_in_files(change) && subject_.boot.command_line.known();
  }

  // Another parameter of the module is set in a file, and only there: the two stay together.
  bool has_company_in_files(const ParameterChange& change) const {
    return std::any_of(changes_.begin(), changes_.end(), [&](const ParameterChange& other) {
      return other.value && other.module == change.module && in_files(subject_, other) &&
             !on_command_line(subject_, other);
    });
  }

  const BootSubject& subject_;
  const std::vector<ParameterChange>& changes_;
  Via via_;
};

void merge(BootSteps& into, BootSteps&& more) {
  const auto append = [](auto& to, auto& from) {
    for (auto& item : from) to.push_back(std::move(item));
  };
  append(into.steps, more.steps);
  append(into.on_confirm, more.on_confirm);
  // Both parts end with how to undo; it is said once, at the end.
  for (const std::string& line : more.rescue) std::erase(into.rescue, line);
  append(into.rescue, more.rescue);
  append(into.notes, more.notes);
  append(into.warnings, more.warnings);
  into.fallback = std::max(into.fallback, more.fallback);
}

BootSteps tell_words(const BootSubject& subject, const ArgumentChange& change) {
  BootSteps steps;
  const std::string usual = findings::usual_command_line_change(subject.machine);
  steps.steps.push_back(
      {StepKind::by_hand,
       "Change the kernel command line",
       fmt::format("headroom does not know which tool writes it here ({}).",
                   facts::to_string(subject.boot.command_line.missing())),
       Instruction{fmt::format("On the kernel command line, where this machine's "
                               "boot loader keeps it: {}.{}",
                               describe(change), usual.empty() ? "" : " Usual here: " + usual)},
       {},
       true});
  steps.fallback = BootFallback::by_hand;
  steps.rescue = {
      "In the boot loader's menu, take the change back on the kernel's line for one boot, and "
      "boot. "
      "Then take it back where you made it."};
  return steps;
}

Result<BootSteps> plan_arguments(const BootSubject& subject, const ArgumentChange& change) {
  if (change.set.empty() && change.drop.empty()) return BootSteps{};
  if (!subject.boot.command_line) {
    HEADROOM_CHECK(check_words(change));
    return tell_words(subject, change);
  }
  return plan_kernel_arguments(subject, change);
}

std::string tell_nixos(const std::vector<ParameterChange>& changes) {
  std::vector<ParameterChange> set;
  std::vector<std::string> dropped;
  for (const ParameterChange& change : changes) {
    if (change.value) {
      set.push_back(change);
    } else {
      dropped.push_back(change.module + " " + change.key);
    }
  }
  std::string text;
  if (!set.empty()) {
    text += fmt::format(
        "Put this into boot.extraModprobeConfig in /etc/nixos/configuration.nix, and remove other "
        "lines there for the same parameters:\n\n  boot.extraModprobeConfig = ''\n{}'';\n\n",
        append_options("", set));
  }
  if (!dropped.empty()) {
    text +=
        fmt::format("Remove from boot.extraModprobeConfig in /etc/nixos/configuration.nix: {}.\n\n",
                    join(dropped, ", "));
  }
  return text + "Then run sudo nixos-rebuild boot.";
}

// The files' part. A system image brings its own initramfs, which holds nothing of /etc: editing
// the files is all there is to do.
Result<BootSteps> plan_files(const BootSubject& subject,
                             const std::vector<ParameterChange>& changes, Via via) {
  if (changes.empty()) return BootSteps{};
  if (!subject.boot.image_based || (via == Via::module_options && !is_nixos(subject.boot))) {
    return plan_module_options(subject, changes);
  }
  BootSteps steps;
  if (is_nixos(subject.boot)) {
    steps.steps.push_back({StepKind::by_hand,
                           "Change the module parameters in configuration.nix",
                           "NixOS generates /etc/modprobe.d from this file.",
                           Instruction{tell_nixos(changes)},
                           {},
                           true});
    steps.fallback = BootFallback::by_hand;
    steps.rescue = {"In the boot menu, choose the previous generation."};
  } else {
    steps.steps = edit_module_files(subject.boot, changes).steps;
  }
  return steps;
}

void add_notes(const BootSubject& subject, BootSteps& steps, const Split& split, Via via) {
  if (via != Via::automatic) return;
  if (!split.arguments.set.empty()) {
    steps.notes.emplace_back(
        "A module parameter on the kernel command line wins over any file in modprobe.d, and needs "
        "no new initramfs.");
  }
  const bool set_in_files =
      std::any_of(split.files.begin(), split.files.end(),
                  [](const auto& change) { return change.value.has_value(); });
  if (set_in_files) {
    steps.notes.push_back(fmt::format("The parameters go to modprobe.d, because {}.",
                                      subject.boot.command_line
                                          ? "a file there sets one of them already"
                                          : "headroom does not know what writes the kernel "
                                            "command line here"));
  }
  if (!split.files_later.empty()) {
    steps.notes.emplace_back(
        "Lines in modprobe.d for the same parameters are removed, so that nothing contradicts the "
        "command line.");
  }
}

}  // namespace

Result<BootSteps> plan_parameters(const BootSubject& subject,
                                  const std::vector<ParameterChange>& changes, Via via) {
  const Split split = Splitter(subject, changes, via).split();
  HEADROOM_TRY(BootSteps files, plan_files(subject, split.files, via));
  BootSubject for_words = subject;
  if (subject.trial && !files.steps.empty()) {
    for_words.trial = false;
    for_words.why_no_trial =
        "modprobe.d changes as well, and the old entry would also boot with that change";
  }
  HEADROOM_TRY(BootSteps steps, plan_arguments(for_words, split.arguments));
  if (steps.on_confirm.empty()) {
    // Both lists may touch one file, so they are one edit.
    std::vector<ParameterChange> all = split.files;
    all.insert(all.end(), split.files_later.begin(), split.files_later.end());
    HEADROOM_TRY(files, plan_files(subject, all, via));
    merge(steps, std::move(files));
  } else {
    HEADROOM_TRY(BootSteps later, plan_files(subject, split.files_later, via));
    for (Step& step : later.steps) steps.on_confirm.push_back(std::move(step));
  }
  if (!steps.steps.empty()) add_notes(subject, steps, split, via);
  return steps;
}

}  // namespace headroom::plan
