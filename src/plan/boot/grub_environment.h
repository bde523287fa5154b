// SPDX-License-Identifier: Apache-2.0
// GRUB's environment block (grubenv): 1024 bytes of NAME=value lines, padded with "#", which GRUB
// reads at boot and writes where it can. It is other people's too (saved_entry, boot_success), and
// changes with every boot; so undo never restores it once it was written anew, but takes back the
// one variable that was set.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "plan/boot/boot_steps.h"

namespace headroom::plan {

std::string environment_path(const facts::BootSetup& boot);  // Beside grub.cfg.
// The value of a variable; nothing where it is not set, or the block could not be read.
std::optional<std::string> environment_value(const facts::BootSetup& boot, std::string_view name);

// The tools of both spellings: "grub-reboot" or "grub2-reboot"; empty where the machine has none.
std::string reboot_tool(const facts::BootSetup& boot);
std::string environment_tool(const facts::BootSetup& boot);

// Chooses an entry for the next boot. Requires: both tools are there.
Step choose_for_next_boot(const facts::BootSetup& boot, const std::string& entry);

}  // namespace headroom::plan
