// SPDX-License-Identifier: Apache-2.0
#include "plan/boot/systemd_boot.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "plan/boot/command_line_words.h"
#include "plan/boot/kernel_cmdline_file.h"
#include "plan/boot/loader_entry.h"
#include "plan/boot/rescue.h"

namespace headroom::plan {
namespace {

constexpr std::string_view trial_file = systemd_trial_file;

Step make_edit(const std::string& path, std::optional<std::string> before,
               std::optional<std::string> after) {
  return {StepKind::kernel_argument,
          "Edit the kernel command line in " + path,
          "",
          FileEdit{path, std::move(before), std::move(after), std::nullopt},
          {},
          true};
}

// While a trial entry is there, the default must be the entry that it was copied from, by its whole
// name. A pattern and "@saved" leave the choice open, and where no entry has the name, the first
// one is started, which may be the trial. Whether "auto-windows" or the kernel of another entry is
// there cannot be seen; this entry's kernel runs.
std::optional<std::string> pin_default(const facts::ConfigFile* loader,
                                       const facts::ConfigFile& entry) {
  if (loader == nullptr) return std::nullopt;
  const auto now = last_value(loader->text, "default");
  // Where boots of the entry are counted, its name changes with them.
  const std::string id = entry_id(entry.path);
  const bool counted = !entry.path.ends_with("/" + id + ".conf");
  if (!counted && now == id + ".conf") return std::nullopt;
  return fmt::format("{}{}default {}{}.conf\n", loader->text,
                     loader->text.empty() || loader->text.ends_with('\n') ? "" : "\n", id,
                     counted ? "*" : "");
}

// The running kernel's entry; where that is not clear, the one that loader.conf names.
const facts::ConfigFile* find_trial_source(const facts::BootSetup& boot) {
  const facts::ConfigFile* running = find_running_entry(boot);
  const facts::ConfigFile* loader = loader_configuration(boot);
  if (running != nullptr || loader == nullptr) return running;
  const std::string name(last_value(loader->text, "default").value_or(""));
  for (const facts::ConfigFile* entry : linux_entries(boot)) {
    if (!name.empty() && entry->path == boot.entries + "/" + name) return entry;
  }
  return nullptr;
}

std::string find_obstacle(const BootSubject& subject, const facts::ConfigFile* running) {
  if (!subject.trial) return std::string(subject.why_no_trial);
  if (!subject.boot.has("bootctl")) return "the machine has no bootctl";
  if (running == nullptr)
    return "headroom cannot tell which loader entry this kernel was booted from";
  const facts::ConfigFile* loader = loader_configuration(subject.boot);
  if (loader == nullptr) return "loader.conf could not be read";
  const std::string name(last_value(loader->text, "default").value_or(""));
  if (to_lower(name).ends_with(".efi")) {
    return fmt::format("the default in {}, {}, is a kernel in one file with its command line",
                       loader->path, name);
  }
  return "";
}

void add_trial(BootSteps& steps, const facts::BootSetup& boot, const facts::ConfigFile& running,
               const ArgumentChange& change) {
  const std::string path = boot.entries + "/" + std::string(trial_file);
  std::string text = edit_entry(running.text, change);
  const std::string title(entry_value(text, "title").value_or("Linux"));
  text = with_entry_value(text, "title", "Trial by headroom: " + title);
  const facts::ConfigFile* old = boot.file(path);
  Step put = make_edit(path, old == nullptr ? std::nullopt : std::optional(old->text), text);
  put.what = "Add an entry with the new command line to the boot menu";
  put.why = "It is a copy of " + running.path + ", which stays as it is.";
  Step take = make_edit(path, text, std::nullopt);
  take.what = "Remove the trial entry from the boot menu";
  steps.steps.push_back(std::move(put));
  steps.on_confirm.push_back(std::move(take));

  const facts::ConfigFile* loader = loader_configuration(boot);
  if (const auto pinned = pin_default(loader, running)) {
    Step pin = make_edit(loader->path, loader->text, *pinned);
    pin.what = "Keep the present entry as the default in " + loader->path;
    pin.why = "Otherwise another entry, or the trial entry again, could be booted after the trial.";
    Step unpin = make_edit(loader->path, *pinned, loader->text);
    unpin.what = "Restore " + loader->path;
    steps.steps.push_back(std::move(pin));
    steps.on_confirm.push_back(std::move(unpin));
  }
  Command choose;
  choose.argv = {"bootctl", "set-oneshot", std::string(trial_file)};
  choose.undo = {"bootctl", "set-oneshot", ""};
  choose.undo_run = UndoRun::always;  // The choice is kept in an EFI variable.
  steps.steps.push_back({StepKind::kernel_argument,
                         "Choose that entry for the next boot only",
                         "systemd-boot clears the choice before it starts the kernel, so the boot "
                         "after that uses the old entry.",
                         choose,
                         {},
                         true});
}

}  // namespace

BootSteps with_systemd_boot_trial(const BootSubject& subject, const ArgumentChange& change,
                                  std::vector<Step> permanent) {
  const facts::BootSetup& boot = subject.boot;
  const facts::ConfigFile* running = find_trial_source(boot);
  BootSteps steps;
  const std::string obstacle = find_obstacle(subject, running);
  if (obstacle.empty()) {
    add_trial(steps, boot, *running, change);
    steps.fallback = BootFallback::next_boot;
    steps.rescue = rescue_after_trial();
    steps.notes.emplace_back(
        "systemd-boot uses the trial entry for the next boot only, even if the menu is hidden. "
        "Every later boot uses the old entry, until headroom confirm has made the new command line "
        "permanent.");
  } else {
    steps.fallback = BootFallback::by_hand;
    steps.rescue = rescue_in_menu(systemd_boot_keys, change);
    steps.notes.push_back("The new command line is not tried for one boot first: " + obstacle +
                          ".");
  }
  std::vector<Step>& place = obstacle.empty() ? steps.on_confirm : steps.steps;
  for (Step& step : permanent) place.push_back(std::move(step));
  return steps;
}

Result<BootSteps> plan_by_loader_entries(const BootSubject& subject, const ArgumentChange& change) {
  const facts::BootSetup& boot = subject.boot;
  const facts::ConfigFile* running = find_running_entry(boot);
  const auto entries = own_entries(boot, running);
  if (entries.empty()) {
    return Error{
        Errc::unsupported,
        fmt::format("expected loader entries that start Linux in {}; found none that could "
                    "be read (kernels in one file with their command line are not edited)",
                    boot.entries.empty() ? "/boot/loader/entries" : boot.entries),
        fmt::format("run it with sudo; or by hand: {} in /etc/kernel/cmdline, and rebuild the "
                    "kernel image with this distribution's own tool",
                    describe(change))};
  }
  std::vector<Step> permanent;
  for (const facts::ConfigFile* entry : entries) {
    const std::string edited = edit_entry(entry->text, change);
    if (edited != entry->text) permanent.push_back(make_edit(entry->path, entry->text, edited));
  }
  if (auto step = edit_kernel_cmdline(boot, change)) permanent.push_back(std::move(*step));
  if (permanent.empty()) return BootSteps{};
  BootSteps steps = with_systemd_boot_trial(subject, change, std::move(permanent));
  const auto all = linux_entries(boot);
  if (std::any_of(all.begin(), all.end(),
                  [](const auto* entry) { return is_fallback_entry(*entry); })) {
    steps.notes.emplace_back("Fallback and rescue entries keep the old command line.");
  }
  return steps;
}

}  // namespace headroom::plan
