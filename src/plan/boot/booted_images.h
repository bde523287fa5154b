// SPDX-License-Identifier: Apache-2.0
// The initramfs images that a boot loader's entries load from their own partition. Where they are
// is what the entries say: what lies under /boot may be the original that a hook copies, or an
// image that nobody boots.
#pragma once

#include <string>
#include <vector>

#include "plan/boot/boot_steps.h"

namespace headroom::plan {

struct BootedImage {
  std::string path;    // On the entry's partition, as it is mounted here.
  std::string kernel;  // The version of the installed kernel that it belongs to; empty: not clear.
  std::string entry;   // The first entry that loads it.
};

// Of this system's entries, without those for rescue and for one boot; CPU microcode is left out.
// Empty where the boot loader reads no entries itself, or none could be read.
std::vector<BootedImage> booted_images(const facts::BootSetup& boot);

// Whether the tool that makes this machine's images leaves that one new, by itself or by a hook
// that copies.
bool is_made_by_tool(const facts::BootSetup& boot, const BootedImage& image);

}  // namespace headroom::plan
