// SPDX-License-Identifier: Apache-2.0
// Whether the tool that makes this machine's initramfs puts modprobe.d into it; plan_initramfs
// itself is declared in boot_steps.h. update-initramfs always does (mkinitramfs), mkinitcpio with
// its hook "modconf", dracut in host-only mode (90kernel-modules) or where it is told by name.
#pragma once

#include <set>
#include <string>

#include "facts/boot_setup.h"

namespace headroom::plan {

// mkinitcpio: the hook is in HOOKS of mkinitcpio.conf and what overrides it; false where unknown.
bool has_modconf_hook(const facts::BootSetup& boot);
// mkinitcpio: the images that its presets name: "default_image", "fallback_uki", … (mkinitcpio(8)).
std::set<std::string> images_of_presets(const facts::BootSetup& boot);
// dracut: its configuration, of those files that were read, says hostonly="yes".
bool is_host_only(const facts::BootSetup& boot);

}  // namespace headroom::plan
