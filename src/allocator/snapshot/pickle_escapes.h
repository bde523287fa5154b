// SPDX-License-Identifier: Apache-2.0
// Decodes text as pickles of protocol 0 have it: on one line, with escapes.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace headroom::allocator {

// Decodes the argument of STRING: a Python literal, with its quotes. Nothing if it is not one.
std::optional<std::string> unescape_literal(std::string_view quoted);

// Decodes the argument of UNICODE, Latin-1 with \uXXXX and \UXXXXXXXX, to UTF-8. Nothing if an
// escape is cut off or names no character.
std::optional<std::string> unescape_unicode(std::string_view line);

}  // namespace headroom::allocator
