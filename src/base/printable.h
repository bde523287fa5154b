// SPDX-License-Identifier: Apache-2.0
// Text that others wrote, made safe to show: names, logs and files may hold characters that steer a
// terminal, turn the order of what is read, or are not seen at all. Each of them becomes a '?'; in
// JSON, which loses nothing, an escape.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace headroom {

// Control characters (C0, DEL, C1), line and paragraph separators, and what Unicode lets a program
// leave unseen (DerivedCoreProperties.txt, Default_Ignorable_Code_Point): marks of direction, zero
// width and format characters, tags, byte order marks, variation selectors.
bool is_hidden(char32_t code);

// One line: hidden characters, line ends and tabs included, and bytes that are no UTF-8 as '?'.
std::string printable(std::string_view text);

// The same for whole pages: line ends and tabs stay.
std::string printable_lines(std::string_view text);
// And the escapes by which report::Style colours what it writes; no others.
std::string printable_page(std::string_view text);

// JSON text with every hidden character in its strings as \uXXXX; what is no UTF-8 becomes U+FFFD.
std::string printable_json(std::string_view json);

}  // namespace headroom
