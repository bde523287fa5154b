// SPDX-License-Identifier: Apache-2.0
// A checksum of a safetensors file's header inside that header: SHA-256 of all its bytes, with 64
// zeros in the place of the checksum's own digits. Not one bit can change without being noticed.
#pragma once

#include <string>
#include <string_view>

namespace headroom::trainer {

// The key in the metadata, and what stands there until seal() fills it in.
inline constexpr std::string_view seal_key = "header_sha256";
std::string empty_seal();

// `header`: the first 8 + N bytes of a file, with empty_seal() under seal_key.
std::string seal(std::string header);

// Whether it is as seal() left it.
bool is_sealed(std::string header);

}  // namespace headroom::trainer
