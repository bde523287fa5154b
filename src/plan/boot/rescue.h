// SPDX-License-Identifier: Apache-2.0
// What to do by hand with a machine that does not come up with a change; it is said before the
// restart. The text {id} stands for the id of the change, which only the journal knows.
#pragma once

#include <string>
#include <vector>

#include "plan/boot/boot_steps.h"

namespace headroom::plan {

// The machine comes back by itself; what is left to do.
std::vector<std::string> rescue_after_trial();
// Whatever boots, the change is taken back from there.
std::vector<std::string> rescue_by_undo();
// Edit the command line once in the boot loader's menu; `menu` says how to reach it.
std::vector<std::string> rescue_in_menu(const std::string& menu, const ArgumentChange& change);

// How to get at the kernel's line in the menu of this machine's boot loader.
const char* grub_or_menu_keys(const facts::BootSetup& boot);

inline constexpr const char* grub_menu_keys =
    "In GRUB's menu (hold Shift, or press Esc, while the machine starts) press e on the entry";
inline constexpr const char* systemd_boot_keys =
    "In the boot menu (hold the space bar while the machine starts) press e on the entry";

}  // namespace headroom::plan
