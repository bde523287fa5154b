// SPDX-License-Identifier: Apache-2.0
// Bytes as text that JSON can carry: whether they are UTF-8 already, its characters one by one, and
// base64 (RFC 4648 §4) where they are not.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace headroom {

// The character that a text begins with.
struct CodePoint {
  char32_t value = 0;
  std::size_t length = 1;  // In bytes; 1 where the text does not begin with UTF-8.
  bool is_valid = false;   // Well-formed UTF-8 as is_utf8 means it.
};
// Requires: `bytes` is not empty.
CodePoint first_code_point(std::string_view bytes);

// Well-formed UTF-8 as Unicode defines it (table 3-7): no overlong forms, no surrogates.
bool is_utf8(std::string_view bytes);

std::string to_base64(std::string_view bytes);  // With padding, without line ends.
// nullopt for everything that to_base64 does not write.
std::optional<std::string> from_base64(std::string_view text);

}  // namespace headroom
