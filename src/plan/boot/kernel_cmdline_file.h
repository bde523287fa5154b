// SPDX-License-Identifier: Apache-2.0
// /etc/kernel/cmdline: the command line that kernel-install and proxmox-boot-tool give to the
// entries of kernels that are installed later (kernel-install(8)).
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "plan/boot/boot_steps.h"

namespace headroom::plan {

inline constexpr std::string_view kernel_cmdline_path = "/etc/kernel/cmdline";

// Its text edited: new words go to the first line that is neither empty nor a comment, the only one
// that proxmox-boot-tool reads.
std::string edit_cmdline_text(std::string_view text, const ArgumentChange& change);

// The edit of that file; nothing where it is not there or has everything already.
std::optional<Step> edit_kernel_cmdline(const facts::BootSetup& boot, const ArgumentChange& change);

}  // namespace headroom::plan
