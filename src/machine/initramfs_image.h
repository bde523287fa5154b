// SPDX-License-Identifier: Apache-2.0
// What an initramfs image holds: one or more cpio archives (newc) end to end, the early ones plain
// (CPU microcode), the last one usually compressed (kernel:
// Documentation/driver-api/early-userspace/ buffer-format.rst). Decompression by libarchive, opened
// at run time.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "machine/writable_files.h"

namespace headroom::machine {

// The bytes of the file `name` ("etc/modprobe.d/ttm.conf", with or without a leading slash) in the
// image `path`; nullopt where the image was read to its end and does not hold it. Fails with
// invalid on what is no such image, and with unsupported on a compression that is not known.
Result<std::optional<std::string>> read_from_initramfs(const WritableFiles& files,
                                                       std::string_view path,
                                                       std::string_view name);
// Every name in the image, in its order.
Result<std::vector<std::string>> list_initramfs(const WritableFiles& files, std::string_view path);

}  // namespace headroom::machine
