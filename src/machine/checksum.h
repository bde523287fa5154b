// SPDX-License-Identifier: Apache-2.0
// SHA-256 (FIPS 180-4), by libmd.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "machine/writable_files.h"

namespace headroom::machine {

std::string sha256(std::string_view bytes);  // 64 hexadecimal digits.
// Of a file, read in pieces, its links followed.
Result<std::string> sha256_of(const WritableFiles& files, std::string_view path);

}  // namespace headroom::machine
