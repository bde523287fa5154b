// SPDX-License-Identifier: Apache-2.0
#include "plan/boot/grub_environment.h"

#include "base/require.h"
#include "base/text.h"

namespace headroom::plan {
namespace {

std::string tool(const facts::BootSetup& boot, std::string_view name) {
  for (const char* prefix : {"grub2-", "grub-"}) {
    std::string whole = prefix + std::string(name);
    if (boot.has(whole)) return whole;
  }
  return "";
}

}  // namespace

std::string environment_path(const facts::BootSetup& boot) {
  const std::string& config = boot.grub_config;
  const std::string folder = config.empty() ? "/boot/grub" : config.substr(0, config.rfind('/'));
  const std::string path = folder + "/grubenv";
  // On EFI machines of Fedora it may be a link; the file that it leads to is the one that changes.
  const facts::ConfigFile* file = boot.file(path);
  return file == nullptr ? path : file->path;
}

std::optional<std::string> environment_value(const facts::BootSetup& boot, std::string_view name) {
  const facts::ConfigFile* file = boot.file(environment_path(boot));
  if (file == nullptr) return std::nullopt;
  for (const std::string_view line : split_lines(file->text)) {
    if (line.starts_with('#')) continue;
    if (line.starts_with(name) && line.substr(name.size(), 1) == "=") {
      return std::string(line.substr(name.size() + 1));
    }
  }
  return std::nullopt;
}

std::string reboot_tool(const facts::BootSetup& boot) {
  return tool(boot, "reboot");
}

std::string environment_tool(const facts::BootSetup& boot) {
  return tool(boot, "editenv");
}

Step choose_for_next_boot(const facts::BootSetup& boot, const std::string& entry) {
  require(!reboot_tool(boot).empty() && !environment_tool(boot).empty(),
          "the machine has the tools that choose GRUB's next entry");
  const std::string path = environment_path(boot);
  Command command;
  command.argv = {reboot_tool(boot), entry};
  command.generates = {path};  // Written anew by GRUB itself when it takes the choice.
  command.undo = {environment_tool(boot), path, "unset", "next_entry"};
  command.undo_run = UndoRun::if_changed;
  return {StepKind::kernel_argument,
          "Choose the entry " + entry + " for the next boot only",
          "GRUB clears the choice before it starts the kernel, so the boot after that uses the old "
          "entry.",
          command,
          {{Expectation::Kind::file_contains, path, "next_entry=" + entry}},
          true};
}

}  // namespace headroom::plan
