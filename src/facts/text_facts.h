// SPDX-License-Identifier: Apache-2.0
// From the text of one kernel file to single facts. A Text is what was read, with its path, or why
// it could not be read; everything here passes that reason on.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "facts/fact.h"

namespace headroom::facts {

using Text = Fact<std::string>;

// The whole text, without blanks around it.
Text parse_word(const Text& text);
// The whole text as one number: decimal, or hexadecimal with 0x.
Fact<std::uint64_t> parse_number(const Text& text);
Fact<Bytes> parse_byte_count(const Text& text);

// The first line whose first word is `key`; the fact's value is the rest of the line, trimmed. A
// colon after the key is dropped ("MemTotal:  5 kB", "size_in_bytes 5").
Text find_line(const Text& text, std::string_view key);
// The same, with the rest as a number.
Fact<std::uint64_t> find_number(const Text& text, std::string_view key);

}  // namespace headroom::facts
