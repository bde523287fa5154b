// SPDX-License-Identifier: Apache-2.0
#include "plan/boot/next_boot.h"

#include <algorithm>

#include "base/text.h"
#include "plan/boot/command_line_words.h"
#include "plan/boot/grub_defaults.h"
#include "plan/boot/grub_environment.h"
#include "plan/boot/grub_menu.h"
#include "plan/boot/kernel_cmdline_file.h"
#include "plan/boot/loader_entry.h"

namespace headroom::plan {
namespace {

using facts::BootSetup;
using facts::CommandLineTool;
using facts::ConfigFile;
using facts::Text;

constexpr const char* grub_source = "/etc/default/grub";

Text not_known(std::string path) {
  return {facts::Missing{facts::Why::unreadable, "the boot loader's files do not say"},
          facts::Source{std::move(path), 0, ""}};
}

Text known(std::string words, std::string path) {
  return {std::move(words), facts::Source{std::move(path), 0, ""}};
}

// The words of an entry; Fedora's may take them from GRUB's environment block.
Text of_entry(const BootSetup& boot, const ConfigFile* entry) {
  if (entry == nullptr) return not_known(boot.entries);
  constexpr std::string_view variable = "$kernelopts";
  std::string words = entry_options(entry->text);
  const std::size_t at = words.find(variable);
  if (at != std::string::npos) {
    const auto value = environment_value(boot, "kernelopts");
    if (!value) return not_known(environment_path(boot));
    words.replace(at, variable.size(), *value);
  }
  return known(std::move(words), entry->path);
}

// Where grub.cfg could not be read, or its default is not clear, what it is made from.
Text of_grub_menu(const BootSubject& subject) {
  const BootSetup& boot = subject.boot;
  if (const ConfigFile* config = boot.file(boot.grub_config)) {
    const auto menu = parse_grub_menu(config->text);
    const MenuEntry* entry = find_default_entry(boot, config->text, menu);
    auto words = entry == nullptr ? std::nullopt : menu_command_line(entry->body);
    if (words) return known(*std::move(words), config->path);
  }
  if (auto words = grub_default_words(subject)) return known(*std::move(words), grub_source);
  return not_known(boot.grub_config);
}

// GRUB that reads loader entries.
Text of_grub_entries(const BootSubject& subject) {
  const BootSetup& boot = subject.boot;
  if (linux_entries(boot).empty()) return of_grub_menu(subject);
  const ConfigFile* named = find_named_entry(boot, find_default_name(boot));
  return of_entry(boot, named == nullptr ? find_running_entry(boot) : named);
}

// loader.conf's default by its whole name, with or without ".conf"; where that is a pattern or
// "@saved", the running kernel's entry.
Text of_loader_entries(const BootSetup& boot) {
  const ConfigFile* loader = loader_configuration(boot);
  const auto value = loader == nullptr ? std::nullopt : last_value(loader->text, "default");
  const std::string named = boot.entries + "/" + std::string(value.value_or(""));
  for (const ConfigFile* entry : linux_entries(boot)) {
    if (entry->path == named || entry->path == named + ".conf") return of_entry(boot, entry);
  }
  return of_entry(boot, find_running_entry(boot));
}

// ostree numbers its entries in "version", the default deployment's highest.
Text of_deployments(const BootSetup& boot) {
  const ConfigFile* first = nullptr;
  std::uint64_t highest = 0;
  for (const ConfigFile* entry : linux_entries(boot)) {
    const auto number = parse_u64(entry_value(entry->text, "version").value_or(""));
    if (first != nullptr && (!number || *number <= highest)) continue;
    first = entry;
    highest = number.value_or(0);
  }
  return of_entry(boot, first);
}

// What proxmox-boot-tool reads of it.
Text of_cmdline_file(const BootSetup& boot) {
  const ConfigFile* file = boot.file(kernel_cmdline_path);
  for (const std::string_view line : split_lines(file == nullptr ? "" : file->text)) {
    const std::string_view words = trim(line);
    if (!words.empty() && !words.starts_with('#')) return known(std::string(words), file->path);
  }
  return not_known(std::string(kernel_cmdline_path));
}

bool has_word(std::string_view command_line, std::string_view word) {
  const auto found = find_arguments(command_line, argument_name(word));
  return std::find(found.begin(), found.end(), word) != found.end();
}

}  // namespace

facts::Text next_command_line(const BootSubject& subject) {
  const BootSetup& boot = subject.boot;
  if (!boot.command_line) return boot.command_line.absent<std::string>();
  switch (*boot.command_line) {
    case CommandLineTool::update_grub:
    case CommandLineTool::grub_mkconfig:
      return of_grub_menu(subject);
    case CommandLineTool::grubby:
      return of_grub_entries(subject);
    case CommandLineTool::systemd_boot:
    case CommandLineTool::kernelstub:
      return of_loader_entries(boot);
    case CommandLineTool::rpm_ostree:
      return of_deployments(boot);
    case CommandLineTool::proxmox_boot_tool:
      return of_cmdline_file(boot);
    case CommandLineTool::nixos:
      break;
  }
  return boot.grub_config.empty() ? of_loader_entries(boot) : of_grub_menu(subject);
}

bool is_certain(const facts::Text& next_command_line) {
  return next_command_line && next_command_line.source().path != grub_source;
}

facts::MachineFacts at_next_boot(const BootSubject& subject) {
  facts::MachineFacts machine = subject.machine;
  const Text words = next_command_line(subject);
  if (!words) return machine;
  std::erase_if(machine.options, is_kernel_argument);
  for (facts::ModuleOption& option : facts::parse_cmdline(words)) {
    machine.options.push_back(std::move(option));
  }
  return machine;
}

bool is_kernel_argument(const facts::ModuleOption& option) {
  // The source of such an option is its word; of a file's, the whole statement.
  return option.source.path == "/proc/cmdline" ||
         argument_name(option.source.text) == option.module + "." + option.key;
}

bool is_lost_at_next_boot(const BootSubject& subject, std::string_view word) {
  const Text next = next_command_line(subject);
  return subject.boot.cmdline && has_word(*subject.boot.cmdline, word) && next &&
         !has_word(*next, word);
}

}  // namespace headroom::plan
