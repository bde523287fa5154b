// SPDX-License-Identifier: Apache-2.0
#include "plan/boot/rescue.h"

#include <fmt/format.h>

#include "base/text.h"

namespace headroom::plan {

std::vector<std::string> rescue_after_trial() {
  return {
      "Switch the machine off and on again. It then boots the old entry by itself.",
      "Then run: sudo headroom undo {id}",
  };
}

std::vector<std::string> rescue_by_undo() {
  return {
      "Once it runs: sudo headroom undo {id}, and reboot.",
      "From a rescue system, with this machine's root mounted at /mnt (and /boot below it): "
      "sh /mnt/var/lib/headroom/changes/{id}/undo.sh /mnt",
  };
}

std::vector<std::string> rescue_in_menu(const std::string& menu, const ArgumentChange& change) {
  std::vector<std::string> lines;
  if (!change.set.empty()) {
    lines.push_back(fmt::format("{}, remove {} from the kernel's line, and boot.", menu,
                                join(change.set, " ")));
  }
  for (std::string& line : rescue_by_undo()) lines.push_back(std::move(line));
  return lines;
}

const char* grub_or_menu_keys(const facts::BootSetup& boot) {
  const bool systemd =
      boot.command_line && (*boot.command_line == facts::CommandLineTool::systemd_boot ||
                            *boot.command_line == facts::CommandLineTool::kernelstub ||
                            *boot.command_line == facts::CommandLineTool::proxmox_boot_tool);
  return systemd ? systemd_boot_keys : grub_menu_keys;
}

}  // namespace headroom::plan
