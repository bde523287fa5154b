// SPDX-License-Identifier: Apache-2.0
// Through all archives of an initramfs image, as the kernel goes: plain ones, zero bytes between
// them, compressed parts that hold archives again. A unified kernel image (UKI: a PE program whose
// section .initrd is the image) is walked through that section.
#pragma once

#include "base/result.h"
#include "machine/byte_source.h"
#include "machine/cpio.h"

namespace headroom::machine {

// Shows the visitor every entry, in order; where two have one name, the later one is what the
// kernel ends up with. Fails with invalid on what is no image, or not a whole one, and with
// unsupported where the unpacker is missing.
Status walk_initramfs(const RandomAccess& image, CpioVisitor& visitor, CpioLimits limits = {});

}  // namespace headroom::machine
