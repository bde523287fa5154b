// SPDX-License-Identifier: Apache-2.0
// The ends of logs that were rotated: as they stand, or packed by logrotate with gzip, xz or zstd.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"
#include "machine/files.h"

namespace headroom::machine {

// Returns what Files::read_tail() does, and of a packed file the end of what is unpacked from it.
// Fails with invalid on a packed file of more than 16 MiB, or one that unpacks to more than 128
// MiB; with unsupported where libarchive is not installed.
Result<std::string> read_log_tail(const Files& files, std::string_view path, std::size_t most);

}  // namespace headroom::machine
