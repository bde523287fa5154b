// SPDX-License-Identifier: Apache-2.0
#include "plan/boot/grubby.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/text.h"
#include "plan/boot/command_line_words.h"
#include "plan/boot/grub_environment.h"
#include "plan/boot/kernel_cmdline_file.h"
#include "plan/boot/loader_entry.h"
#include "plan/boot/trial_boot.h"

namespace headroom::plan {
namespace {

constexpr std::string_view options_variable = "$kernelopts";

std::string entries_folder(const facts::BootSetup& boot) {
  return boot.entries.empty() ? "/boot/loader/entries" : boot.entries;
}

bool uses_environment(const facts::ConfigFile& entry) {
  return entry_options(entry.text).find(options_variable) != std::string::npos;
}

// Nothing in the folder is for another system ("efi /EFI/Microsoft/…"), which grubby leaves alone.
bool starts_only_linux(const facts::BootSetup& boot) {
  const std::string folder = entries_folder(boot) + "/";
  return std::none_of(boot.files.begin(), boot.files.end(), [&](const facts::ConfigFile& file) {
    const bool inside = file.path.starts_with(folder) && file.path.ends_with(".conf");
    return inside && !entry_value(file.text, "linux");
  });
}

// grubby compares names byte by byte, the kernel does not: every spelling that stands anywhere is
// named for it.
std::vector<std::string> spellings(const facts::BootSetup& boot, const std::string& name) {
  std::set<std::string> found;
  const auto look = [&](std::string_view text) {
    for (const std::string& word : find_arguments(text, name)) {
      found.insert(word.substr(0, word.find('=')));
    }
  };
  for (const facts::ConfigFile* entry : linux_entries(boot)) look(entry_options(entry->text));
  look(environment_value(boot, "kernelopts").value_or(""));
  return {found.begin(), found.end()};
}

std::vector<std::string> words_to_remove(const facts::BootSetup& boot,
                                         const ArgumentChange& change) {
  std::vector<std::string> names = change.drop;
  for (const std::string& name : change.drop) {
    for (std::string& other : spellings(boot, name)) {
      if (other != name) names.push_back(std::move(other));
    }
  }
  for (const std::string& word : change.set) {
    const std::string name = word.substr(0, word.find('='));
    for (std::string& other : spellings(boot, name)) {
      if (other != name) names.push_back(std::move(other));
    }
  }
  return names;
}

std::vector<Expectation> expectations(const facts::BootSetup& boot, const ArgumentChange& change) {
  std::vector<Expectation> expects;
  const auto entries = linux_entries(boot);
  const auto is_plain = [](const facts::ConfigFile* entry) { return !uses_environment(*entry); };
  const bool all_plain = std::all_of(entries.begin(), entries.end(), is_plain);
  // The pattern allows for kernels that come and go before confirm, but covers every entry.
  const bool by_pattern = all_plain && starts_only_linux(boot);
  std::vector<std::string> holders;
  if (by_pattern) holders.push_back(entries_folder(boot) + "/*.conf");
  if (!all_plain) holders.push_back(environment_path(boot));
  for (const facts::ConfigFile* entry : entries) {
    const bool stays = !entry->path.ends_with(trial_entry_end);
    if (!by_pattern && is_plain(entry) && stays) holders.push_back(entry->path);
  }
  for (const std::string& holder : holders) {
    for (const std::string& word : change.set) {
      expects.push_back({Expectation::Kind::file_contains, holder, word});
    }
    for (const std::string& name : change.drop) {
      expects.push_back({Expectation::Kind::file_lacks, holder, name + "="});
    }
  }
  return expects;
}

bool has_everything(const facts::BootSetup& boot, const ArgumentChange& change) {
  const auto entries = linux_entries(boot);
  return !entries.empty() && std::all_of(entries.begin(), entries.end(), [&](const auto* entry) {
    return !uses_environment(*entry) && edit_entry(entry->text, change) == entry->text;
  });
}

Step make_grubby_step(const facts::BootSetup& boot, const ArgumentChange& change) {
  Command command;
  command.argv = {"grubby", "--update-kernel=ALL"};
  const std::vector<std::string> remove = words_to_remove(boot, change);
  if (!remove.empty()) command.argv.push_back("--remove-args=" + join(remove, " "));
  if (!change.set.empty()) command.argv.push_back("--args=" + join(change.set, " "));
  command.edits = {entries_folder(boot) + "/*.conf", "/etc/default/grub", "/etc/kernel/cmdline"};
  if (const auto options = environment_value(boot, "kernelopts")) {
    command.generates = {environment_path(boot)};
    command.undo = {environment_tool(boot), environment_path(boot), "set",
                    "kernelopts=" + *options};
    command.undo_run = command.undo[0].empty() ? UndoRun::never : UndoRun::if_changed;
  }
  Step step{StepKind::kernel_argument,
            "Edit the kernel command line of every installed kernel (" + describe(change) + ")",
            "grubby edits the loader entries, and GRUB_CMDLINE_LINUX for later kernels.",
            command,
            expectations(boot, change),
            true};
  return step;
}

}  // namespace

Result<BootSteps> plan_by_grubby(const BootSubject& subject, const ArgumentChange& change) {
  for (const std::string& word : change.set) {
    if (word.find_first_of(" \t\"'\\") == std::string::npos) continue;
    return Error{Errc::unsupported,
                 fmt::format("expected a word without blanks and quotes, which grubby splits; "
                             "found {}",
                             word),
                 "edit the files in " + entries_folder(subject.boot) + " by hand"};
  }
  if (has_everything(subject.boot, change)) return BootSteps{};
  std::vector<Step> permanent;
  if (auto step = edit_kernel_cmdline(subject.boot, change)) permanent.push_back(std::move(*step));
  permanent.push_back(make_grubby_step(subject.boot, change));
  return with_loader_entry_trial(subject, change, std::move(permanent));
}

}  // namespace headroom::plan
