// SPDX-License-Identifier: Apache-2.0
// What a kernel that a boot loader started makes of its command line and its initramfs: amdgpu and
// TTM are loaded from the initramfs, with the options in there, so that a file of the root's own
// modprobe.d that is in no image changes nothing.
#pragma once

#include <filesystem>
#include <string>

#include "base/result.h"
#include "support/boot_entry.h"

namespace headroom::testing {

// Writes what /proc and /sys say from now on; the kernel's version. Fails if the kernel or an image
// is not there or is none.
Result<std::string> start_kernel(const std::filesystem::path& root, const BootEntry& entry);

}  // namespace headroom::testing
