// SPDX-License-Identifier: Apache-2.0
// What a boot loader starts: a kernel, its initramfs images and its command line.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"

namespace headroom::testing {

struct BootEntry {
  std::string id;  // Without counters: "arch+2.conf" is "arch.conf".
  std::string title;
  std::string kernel;               // A path of the machine.
  std::vector<std::string> images;  // Likewise.
  std::string command_line;         // As the kernel gets it.
  std::filesystem::path counted;    // The file whose name counts its boots; empty: not counted.
};

// The file systems that a boot loader sees, as the firmware's own notes say (.fake/firmware):
//   grub MENU PARTITION [no-write]     GRUB's menu, the folder whose partition holds kernels, and
//                                      whether GRUB cannot write there
//   systemd-boot ESP [XBOOTLDR]
struct Firmware {
  std::string loader;
  std::string menu;       // GRUB's.
  std::string partition;  // Where what the loader calls "/" is mounted.
  std::string second;     // systemd-boot's other partition; empty: none.
  bool writable = true;
};
Result<Firmware> read_firmware(const std::filesystem::path& root);

// What the loader would start now; consumes what is meant for one boot.
Result<BootEntry> choose_with_grub(const std::filesystem::path& root, const Firmware& firmware);
Result<BootEntry> choose_with_systemd_boot(const std::filesystem::path& root,
                                           const Firmware& firmware);

// One loader entry (Boot Loader Specification, type 1): the values of a key, in their order.
std::vector<std::string> entry_values(const std::string& text, const std::string& key);

}  // namespace headroom::testing
