// SPDX-License-Identifier: Apache-2.0
#include "plan/boot/booted_images.h"

#include <algorithm>

#include "plan/boot/initramfs.h"
#include "plan/boot/loader_entry.h"

namespace headroom::plan {
namespace {

bool reads_entries(const facts::BootSetup& boot) {
  return boot.command_line && (*boot.command_line == facts::CommandLineTool::systemd_boot ||
                               *boot.command_line == facts::CommandLineTool::kernelstub);
}

std::string kernel_of(const facts::BootSetup& boot, const facts::ConfigFile& entry) {
  for (const facts::InstalledKernel& kernel : boot.kernels) {
    if (starts_kernel(entry, kernel)) return kernel.version;
  }
  return "";
}

// Hooks of update-initramfs that copy what it made: systemd-boot's own calls kernel-install.
bool has_copying_hook(const facts::BootSetup& boot) {
  return std::any_of(boot.initramfs_hooks.begin(), boot.initramfs_hooks.end(),
                     [](const std::string& hook) {
                       for (const char* name : {"systemd-boot", "kernelstub", "kernel-install"}) {
                         if (hook.find(name) != std::string::npos) return true;
                       }
                       return false;
                     });
}

}  // namespace

std::vector<BootedImage> booted_images(const facts::BootSetup& boot) {
  std::vector<BootedImage> images;
  if (!reads_entries(boot)) return images;
  for (const facts::ConfigFile* entry : own_entries(boot, find_running_entry(boot))) {
    if (is_trial_entry(*entry)) continue;
    for (std::string& path : files_loaded(boot, *entry, {"initrd"})) {
      const bool known = std::any_of(images.begin(), images.end(),
                                     [&](const auto& image) { return image.path == path; });
      if (known || path.find("ucode") != std::string::npos) continue;
      images.push_back({std::move(path), kernel_of(boot, *entry), entry->path});
    }
  }
  return images;
}

bool is_made_by_tool(const facts::BootSetup& boot, const BootedImage& image) {
  if (!boot.initramfs) return false;
  switch (*boot.initramfs) {
    case facts::InitramfsTool::dracut:  // It is told which file to write, for which kernel.
      return !image.kernel.empty();
    case facts::InitramfsTool::mkinitcpio:
      return images_of_presets(boot).count(image.path) > 0;
    case facts::InitramfsTool::update_initramfs:
      break;
  }
  return has_copying_hook(boot) ||
         std::any_of(boot.kernels.begin(), boot.kernels.end(),
                     [&](const auto& kernel) { return kernel.initramfs == image.path; });
}

}  // namespace headroom::plan
