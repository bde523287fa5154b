// SPDX-License-Identifier: Apache-2.0
// Text as pickles of protocol 0 have it: on one line, with escapes.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace headroom::allocator {

// The argument of STRING: a literal of Python's, with its quotes. Nothing if it is none.
std::optional<std::string> unescape_literal(std::string_view quoted);

// The argument of UNICODE: Latin-1 with \uXXXX and \UXXXXXXXX, to UTF-8. Nothing if an escape is
// cut off or names no character.
std::optional<std::string> unescape_unicode(std::string_view line);

}  // namespace headroom::allocator
