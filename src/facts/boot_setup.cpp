// SPDX-License-Identifier: Apache-2.0
#include "facts/boot_setup.h"

#include <algorithm>

namespace headroom::facts {

const ConfigFile* BootSetup::file(std::string_view path) const {
  const auto link = links.find(std::string(path));
  const std::string_view name = link == links.end() ? path : std::string_view(link->second);
  const auto found =
      std::find_if(files.begin(), files.end(), [&](const auto& file) { return file.path == name; });
  return found == files.end() ? nullptr : &*found;
}

bool BootSetup::has(std::string_view program) const {
  return programs.count(std::string(program)) > 0;
}

bool BootSetup::needs_root_to_see() const {
  return std::any_of(unseen.begin(), unseen.end(), [](const Text& text) {
    return !text && text.missing().why == Why::no_permission;
  });
}

std::string_view to_string(CommandLineTool tool) {
  switch (tool) {
    case CommandLineTool::grubby:
      return "grubby";
    case CommandLineTool::update_grub:
      return "update-grub";
    case CommandLineTool::grub_mkconfig:
      return "grub-mkconfig";
    case CommandLineTool::systemd_boot:
      return "systemd-boot";
    case CommandLineTool::kernelstub:
      return "kernelstub";
    case CommandLineTool::rpm_ostree:
      return "rpm-ostree";
    case CommandLineTool::proxmox_boot_tool:
      return "proxmox-boot-tool";
    case CommandLineTool::nixos:
      break;
  }
  return "nixos";
}

std::string_view to_string(InitramfsTool tool) {
  switch (tool) {
    case InitramfsTool::update_initramfs:
      return "update-initramfs";
    case InitramfsTool::dracut:
      return "dracut";
    case InitramfsTool::mkinitcpio:
      break;
  }
  return "mkinitcpio";
}

}  // namespace headroom::facts
