// SPDX-License-Identifier: Apache-2.0
// Bytes as they were logged → text to search: UTF-16 becomes UTF-8, colours and other terminal
// sequences go, and so do NULs. Most logs need none of it and are passed through untouched.
#pragma once

#include <string>
#include <string_view>

namespace headroom::logs {

enum class Encoding { unknown, utf8, utf16_le, utf16_be };

// By the byte order mark, or by where the NULs of the first bytes stand. Never unknown for more
// than three bytes.
Encoding detect_encoding(std::string_view bytes);

// UTF-16 without its byte order mark → UTF-8; what is no character becomes U+FFFD. Of an odd number
// of bytes the last one is left out.
std::string utf16_to_utf8(std::string_view bytes, Encoding encoding);

bool needs_cleaning(std::string_view text);
// Without terminal sequences (ECMA-48: CSI, OSC and two-byte escapes), NULs, backspaces and the
// carriage return of a CRLF. Line ends stay where they are.
std::string clean(std::string_view text);

}  // namespace headroom::logs
