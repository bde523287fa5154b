// SPDX-License-Identifier: Apache-2.0
// Bytes as text that JSON can carry: whether they are UTF-8 already, and base64 (RFC 4648 §4) where
// they are not.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace headroom {

// Well-formed UTF-8 as Unicode defines it (table 3-7): no overlong forms, no surrogates.
bool is_utf8(std::string_view bytes);

std::string to_base64(std::string_view bytes);  // With padding, without line ends.
// nullopt for everything that to_base64 does not write.
std::optional<std::string> from_base64(std::string_view text);

}  // namespace headroom
