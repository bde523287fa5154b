// SPDX-License-Identifier: Apache-2.0
// Which boot loader and which tools a machine uses, from what its files look like. Tools of several
// distributions lie about on many machines, so the order of the questions matters: the surest sign
// first, and where signs contradict each other there is no answer.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "facts/boot_setup.h"
#include "facts/text_facts.h"

namespace headroom::facts {

// What was seen of a machine's boot. Paths are those where something was found, or empty.
struct BootTraces {
  Text distribution_id;                         // "ubuntu debian".
  std::map<std::string, std::string> programs;  // Name → path.
  Text cmdline;                                 // /proc/cmdline.
  Text mounts;                                  // /proc/mounts.
  // The EFI variable LoaderInfo, "systemd-boot 257.5": every systemd-boot sets it, and GRUB from
  // 2.12 on if its menu loads the module bli.
  Text loader_info;
  bool efi = false;              // The firmware booted it by EFI.
  bool efi_variables = false;    // The variables can be listed, so that one which is missing is not
                                 // there.
  bool ostree = false;           // /run/ostree-booted.
  bool proxmox = false;          // /etc/pve.
  bool proxmox_esps = false;     // /etc/kernel/proxmox-boot-uuids names a partition.
  bool kernel_cmdline = false;   // /etc/kernel/cmdline.
  bool kernelstub = false;       // /etc/kernelstub/configuration.
  bool preset = false;           // A preset of mkinitcpio.
  bool default_grub = false;     // /etc/default/grub.
  std::string grub_config;       // grub.cfg, readable or not.
  std::string loader_conf;       // systemd-boot's configuration.
  std::string systemd_boot_efi;  // systemd-boot itself, on the ESP.
  std::string entries;           // Loader entries.
  std::string other_loader;      // The configuration of one that we do not write: Limine, rEFInd.
};

// The system image is not ours to change: NixOS, ostree, SteamOS, or a root that is mounted
// read-only.
bool is_image_based(const BootTraces& traces);
Fact<CommandLineTool> find_command_line_tool(const BootTraces& traces);
Fact<InitramfsTool> find_initramfs_tool(const BootTraces& traces);

// /proc/mounts (fstab(5): blanks are written \040): what holds a path. Of two mounts on one folder
// the later one covers the other.
struct Mount {
  std::string device;  // "/dev/nvme0n1p2", "rpool/ROOT/pve-1".
  std::string folder;
  std::string type;  // "ext4".
  std::vector<std::string> options;
};
std::optional<Mount> find_mount(std::string_view mounts, std::string_view path);

// Whether GRUB can write the file `path` at boot. It writes through lists of disk blocks, so not on
// file systems with checksums or copy on write, and not through LVM or software RAID (GRUB manual,
// "Environment block"; grub-core/commands/loadenv.c). What would clear next_entry there does
// nothing, and the entry chosen for one boot would stay chosen.
Fact<bool> find_grubenv_writable(const Text& mounts, const std::string& path);

// By their numbers, as sort -V does, and a release after its candidates ("6.12.0-rc5").
bool is_older(std::string_view version, std::string_view other);
void sort_newest_first(std::vector<std::string>& versions);

// Where the initramfs of a kernel may be, likeliest first. `machine_id` and `package` may be empty;
// `package` is what /usr/lib/modules/VERSION/pkgbase says (Arch: "linux-lts").
std::vector<std::string> initramfs_candidates(const std::string& version,
                                              const std::string& machine_id,
                                              const std::string& package);

// default_image of a preset of mkinitcpio (/etc/mkinitcpio.d/linux.preset); empty where it makes a
// unified image instead.
std::string preset_image(std::string_view preset);

// An EFI variable as efivarfs gives it: four bytes of attributes, then UTF-16, little-endian. Only
// the ASCII of it.
std::string decode_efi_text(std::string_view bytes);

}  // namespace headroom::facts
