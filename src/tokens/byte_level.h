// SPDX-License-Identifier: Apache-2.0
// The alphabet in which byte-level tokenizers write bytes, so that every text is made of characters
// that can be seen: GPT-2's (openai/gpt-2: src/encoder.py, bytes_to_unicode).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace headroom::tokens {

// Appends every byte as its character.
void append_byte_level(std::string_view bytes, std::string& text);

// The byte that a character stands for.
std::optional<std::uint8_t> from_byte_level(char32_t code);

}  // namespace headroom::tokens
