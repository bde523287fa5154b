// SPDX-License-Identifier: Apache-2.0
// Unified kernel images: PE programs for UEFI that carry kernel, command line and initramfs as
// sections (UAPI.5 Unified Kernel Image; PE/COFF: Microsoft's "PE Format").
#pragma once

#include <cstdint>
#include <optional>

#include "base/result.h"
#include "machine/byte_source.h"

namespace headroom::machine {

struct FilePart {
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
};

// Where the section .initrd is; nullopt of what is no PE program. Fails with invalid on one without
// that section, or whose headers lead beyond its end.
Result<std::optional<FilePart>> find_uki_initrd(const RandomAccess& bytes);

}  // namespace headroom::machine
