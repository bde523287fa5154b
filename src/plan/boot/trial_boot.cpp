// SPDX-License-Identifier: Apache-2.0
#include "plan/boot/trial_boot.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/text.h"
#include "plan/boot/command_line_words.h"
#include "plan/boot/grub_environment.h"
#include "plan/boot/grub_menu.h"
#include "plan/boot/loader_entry.h"
#include "plan/boot/rescue.h"
#include "plan/boot/trial_block.h"

namespace headroom::plan {
namespace {

// A trial, or why there can be none.
struct Trial {
  std::vector<Step> steps;
  std::vector<Step> on_confirm;
  std::string why_not;
};

Trial none(std::string why) {
  Trial trial;
  trial.why_not = std::move(why);
  return trial;
}

// What both kinds of menu need; empty where all is there.
std::string find_obstacle(const BootSubject& subject, const ArgumentChange& change) {
  const facts::BootSetup& boot = subject.boot;
  if (!subject.trial) return std::string(subject.why_no_trial);
  if (reboot_tool(boot).empty() || environment_tool(boot).empty()) {
    return "the machine has no grub-reboot";
  }
  if (!boot.grubenv_writable)
    return "headroom does not know whether GRUB can write its environment block";
  if (!*boot.grubenv_writable) {
    return "GRUB cannot write its environment block here (" + boot.grubenv_writable.source().text +
           "), so it could not clear the choice";
  }
  for (const std::string& word : change.set) {
    if (word.find_first_of("\"'\\$`;{}<>|&#") != std::string::npos) {
      return "GRUB's own syntax has a meaning for part of " + word;
    }
  }
  return "";
}

Trial plan_menu_trial(const BootSubject& subject, const ArgumentChange& change) {
  const facts::BootSetup& boot = subject.boot;
  if (std::string why = find_obstacle(subject, change); !why.empty()) return none(std::move(why));
  const facts::ConfigFile* config = boot.file(boot.grub_config);
  if (config == nullptr) return none("grub.cfg could not be read");
  if (config->text.find("next_entry") == std::string::npos) {
    return none(boot.grub_config + " does not look for an entry that was chosen for one boot");
  }
  if (config->text.find("custom.cfg") == std::string::npos) {
    return none(boot.grub_config + " does not read custom.cfg");
  }
  const std::vector<MenuEntry> menu = parse_grub_menu(config->text);
  const MenuEntry* entry = find_default_entry(boot, config->text, menu);
  if (entry == nullptr) return none("the default entry was not found in " + boot.grub_config);
  const auto body = edit_menu_body(entry->body, change);
  if (!body) return none("the default entry has no line that starts Linux");

  const std::string path = config->path.substr(0, config->path.rfind('/')) + "/custom.cfg";
  const facts::ConfigFile* custom = boot.file(path);
  FileEdit put{custom == nullptr ? path : custom->path, std::nullopt, std::nullopt, std::nullopt};
  if (custom != nullptr) put.before = custom->text;
  put.after = with_trial_block(put.before.value_or(""), make_trial_block(*entry, *body));
  FileEdit take{put.path, put.after, std::nullopt, std::nullopt};
  if (custom != nullptr) take.after = without_trial_block(custom->text);
  Trial trial;
  trial.steps.push_back({StepKind::kernel_argument,
                         "Add an entry with the new command line to the boot menu",
                         "It is a copy of the default entry, which stays as it is.",
                         put,
                         {},
                         true});
  trial.steps.push_back(choose_for_next_boot(boot, std::string(trial_id)));
  trial.on_confirm.push_back(
      {StepKind::kernel_argument, "Remove the trial entry from the boot menu", "", take, {}, true});
  return trial;
}

// Fedora's blscfg sorts entries by file name as by machine, version, release, newest first, and a
// default that is a number, or none, means a place in that order. Version 0 of the same machine
// comes last, behind the rescue entry, and moves nothing.
std::string trial_entry_path(const facts::ConfigFile& entry) {
  const std::string folder = entry.path.substr(0, entry.path.rfind('/') + 1);
  std::string name = entry_id(entry.path);
  for (int i = 0; i < 2; ++i) {
    if (const std::size_t dash = name.rfind('-'); dash != std::string::npos) name.resize(dash);
  }
  return folder + name + std::string(trial_entry_end);
}

// Whether the trial's entry comes behind the one that it is a copy of: a version that begins with
// 1 to 9 is newer than 0, and what stands before it is alike.
bool comes_after(const facts::ConfigFile& entry) {
  const std::string id = entry_id(entry.path);
  const std::size_t release = id.rfind('-');
  if (release == std::string::npos || release == 0) return false;
  const std::size_t version = id.rfind('-', release - 1);
  return version != std::string::npos && id[version + 1] >= '1' && id[version + 1] <= '9';
}

// The entry to copy, or why its copy could become the default, or move what is.
struct Source {
  const facts::ConfigFile* entry = nullptr;
  std::string why_not;
};

Source find_trial_source(const facts::BootSetup& boot) {
  const std::string name = find_default_name(boot);
  if (name.empty() || name == "0") {
    const facts::ConfigFile* running = find_running_entry(boot);
    if (running == nullptr) return {nullptr, "the default loader entry was not found"};
    if (comes_after(*running)) return {running, ""};
    return {nullptr, "GRUB starts the first entry of its menu, which the trial entry could become"};
  }
  if (const facts::ConfigFile* entry = find_named_entry(boot, name)) return {entry, ""};
  return {nullptr, "GRUB's default is " + name +
                       ", which is the name of no entry that starts Linux, so the trial entry "
                       "could become the default"};
}

Trial plan_loader_entry_trial(const BootSubject& subject, const ArgumentChange& change) {
  const facts::BootSetup& boot = subject.boot;
  if (std::string why = find_obstacle(subject, change); !why.empty()) return none(std::move(why));
  Source source = find_trial_source(boot);
  if (source.entry == nullptr) return none(std::move(source.why_not));
  const facts::ConfigFile* entry = source.entry;
  std::string text = entry->text;
  const auto kernelopts = environment_value(boot, "kernelopts");
  const std::string options = entry_options(text);
  const std::size_t variable = options.find("$kernelopts");
  if (variable != std::string::npos) {
    // What the variable holds is edited too, so it is written out.
    if (!kernelopts)
      return none(
          "the entry takes its words from GRUB's kernelopts, which headroom does not know here");
    std::string whole = options;
    whole.replace(variable, std::string_view("$kernelopts").size(), *kernelopts);
    text = with_entry_value(text, "options", whole);
  }
  text = edit_entry(text, change);
  const std::string title(entry_value(text, "title").value_or("Linux"));
  text = with_entry_value(text, "title", "Trial by headroom: " + title);
  const std::string path = trial_entry_path(*entry);
  const facts::ConfigFile* old = boot.file(path);
  FileEdit put{path, std::nullopt, text, std::nullopt};
  if (old != nullptr) put.before = old->text;
  Trial trial;
  trial.steps.push_back({StepKind::kernel_argument,
                         "Add an entry with the new command line to the boot menu",
                         "It is a copy of " + entry->path + ", which stays as it is.",
                         put,
                         {},
                         true});
  trial.steps.push_back(choose_for_next_boot(boot, entry_id(path)));
  trial.on_confirm.push_back({StepKind::kernel_argument,
                              "Remove the trial entry from the boot menu",
                              "",
                              FileEdit{path, text, std::nullopt, std::nullopt},
                              {},
                              true});
  return trial;
}

BootSteps assemble(Trial trial, const ArgumentChange& change, std::vector<Step> permanent) {
  BootSteps steps;
  if (!trial.why_not.empty()) {
    steps.steps = std::move(permanent);
    steps.fallback = BootFallback::by_hand;
    steps.rescue = rescue_in_menu(grub_menu_keys, change);
    steps.notes.push_back("The new command line is not tried for one boot first: " + trial.why_not +
                          ".");
    return steps;
  }
  steps.steps = std::move(trial.steps);
  steps.on_confirm = std::move(trial.on_confirm);
  for (Step& step : permanent) steps.on_confirm.push_back(std::move(step));
  steps.fallback = BootFallback::next_boot;
  steps.rescue = rescue_after_trial();
  steps.notes.emplace_back(
      "GRUB uses the trial entry for the next boot only, even if the menu is hidden or its timeout "
      "is 0. It neither saves the entry as the default nor records it as a failed boot. Every "
      "later boot uses the old entry, until headroom confirm has made the new command line "
      "permanent.");
  return steps;
}

}  // namespace

BootSteps with_grub_trial(const BootSubject& subject, const ArgumentChange& change,
                          std::vector<Step> permanent) {
  return assemble(plan_menu_trial(subject, change), change, std::move(permanent));
}

BootSteps with_loader_entry_trial(const BootSubject& subject, const ArgumentChange& change,
                                  std::vector<Step> permanent) {
  return assemble(plan_loader_entry_trial(subject, change), change, std::move(permanent));
}

}  // namespace headroom::plan
