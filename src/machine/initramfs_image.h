// SPDX-License-Identifier: Apache-2.0
// What an initramfs image holds: one or more cpio archives (newc) end to end, the early ones plain
// (CPU microcode), the last one usually compressed (kernel:
// Documentation/driver-api/early-userspace/buffer-format.rst). Decompression by libarchive, opened
// at run time.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "machine/byte_source.h"
#include "machine/files.h"
#include "machine/writable_files.h"

namespace headroom::machine {

// The bytes of the file `name` ("etc/modprobe.d/ttm.conf", with or without a leading slash) in the
// image `path`; nullopt where the image was read to its end and does not hold it. Links in the
// image are followed. The whole image is read, in pieces, so that a damaged one is found; of a
// large one this takes about a second. Fails with invalid on what is no whole image, and with
// unsupported on a compression that is not known.
Result<std::optional<std::string>> read_from_initramfs(const WritableFiles& files,
                                                       std::string_view path,
                                                       std::string_view name);
Result<std::optional<std::string>> read_from_initramfs(const Files& files, std::string_view path,
                                                       std::string_view name);
// The same of an image wherever its bytes are.
Result<std::optional<std::string>> read_from_initramfs(const RandomAccess& image,
                                                       std::string_view name);

// Every name in the image, in its order.
Result<std::vector<std::string>> list_initramfs(const WritableFiles& files, std::string_view path);
Result<std::vector<std::string>> list_initramfs(const RandomAccess& image);

// That the image holds the machine's file as it is now, byte for byte. Fails with not_found where
// the image does not hold it, with invalid where it holds other bytes, and as
// read_from_initramfs does.
Status expect_in_image(const WritableFiles& files, std::string_view image,
                       std::string_view machine_path);

}  // namespace headroom::machine
