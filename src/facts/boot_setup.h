// SPDX-License-Identifier: Apache-2.0
// How this machine gets its kernel command line and its initramfs: which boot loader and which
// tools, and the files that they read, as they are now. What a fix needs to know before it edits
// anything; check does not read it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "facts/fact.h"
#include "facts/text_facts.h"

namespace headroom::facts {

// Who writes the kernel command line that the next boot gets.
enum class CommandLineTool {
  grubby,         // Fedora, RHEL: loader entries under /boot/loader/entries, by grubby.
  update_grub,    // Debian, Ubuntu: /etc/default/grub, then update-grub.
  grub_mkconfig,  // Arch, openSUSE, …: /etc/default/grub, then grub-mkconfig or grub2-mkconfig.
  systemd_boot,   // Loader entries on the ESP, and /etc/kernel/cmdline for the next kernel.
  kernelstub,     // Pop!_OS.
  rpm_ostree,     // Bazzite, Silverblue: rpm-ostree kargs.
  proxmox_boot_tool,  // Proxmox on ZFS: /etc/kernel/cmdline, then proxmox-boot-tool refresh.
  nixos,              // configuration.nix: never edited, only told.
};

enum class InitramfsTool { update_initramfs, dracut, mkinitcpio };

struct ConfigFile {
  std::string path;  // Of that machine, with links followed.
  std::string text;
};

struct InstalledKernel {
  std::string version;    // "6.14.0-37-generic": its folder under /lib/modules.
  std::string initramfs;  // Its image; empty where none was found.
  bool running = false;
};

struct BootSetup {
  Fact<CommandLineTool> command_line;  // Missing: no tool that we know; the source says what was
                                       // looked for.
  Fact<InitramfsTool> initramfs;
  // The system image is read-only or made elsewhere (ostree, SteamOS, NixOS): files under /usr and
  // the initramfs are not ours to change.
  bool image_based = false;
  std::map<std::string, std::string> programs;  // Those that were looked for and are there: name →
                                                // path.
  // Every file that an adapter may read or edit: /etc/default/grub and grub.d/*.cfg beside it,
  // grub.cfg, custom.cfg, grubenv, /etc/kernel/cmdline, loader.conf and loader entries,
  // modprobe.d/*.conf, mkinitcpio's presets, kernelstub's configuration.
  std::vector<ConfigFile> files;
  // Names that lead to one of `files` through links: the name → its path.
  std::map<std::string, std::string> links;
  // What is there and could not be read, files and folders, each with its reason: no_permission
  // means that root would see more.
  std::vector<Text> unseen;
  std::vector<InstalledKernel> kernels;  // Newest first.
  // Programs that update-initramfs runs after it has made an image (/etc/initramfs/post-update.d).
  std::vector<std::string> initramfs_hooks;
  std::string grub_config;  // "/boot/grub/grub.cfg", "/boot/grub2/grub.cfg" or under /boot/efi.
  std::string entries;      // The folder of loader entries; empty where there is none.
  // GRUB can write its environment block (next_entry needs it): /boot is on a plain partition, not
  // on btrfs, ZFS, LVM or RAID.
  Fact<bool> grubenv_writable;
  Text cmdline;  // /proc/cmdline: what this boot got, which need not be what the next one gets.
  Text boot_id;  // /proc/sys/kernel/random/boot_id: another one after every boot.

  // The file of that name, links followed, or nullptr where there is none or it could not be read.
  const ConfigFile* file(std::string_view path) const;
  bool has(std::string_view program) const;
  // Only root can read part of what a plan needs.
  bool needs_root_to_see() const;
};

std::string_view to_string(CommandLineTool tool);
std::string_view to_string(InitramfsTool tool);

}  // namespace headroom::facts
