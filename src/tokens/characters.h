// SPDX-License-Identifier: Apache-2.0
// Characters of text that is known to be UTF-8, and the properties of them that tokenizers ask for.
// The classes are Unicode's own; what each is called follows Rust's char and regex, which Hugging
// Face's tokenizers use.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace headroom::tokens {

// The character at `at`, which moves behind it. Requires: text is UTF-8, and one begins at `at`.
inline char32_t take_character(std::string_view text, std::size_t& at) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[at + i]); };
  const auto rest = [&](std::size_t i) { return byte(i) & 0x3fU; };
  const unsigned lead = byte(0);
  char32_t code = lead;
  std::size_t length = 1;
  if (lead >= 0xf0U) {
    code = ((lead & 0x07U) << 18U) | (rest(1) << 12U) | (rest(2) << 6U) | rest(3);
    length = 4;
  } else if (lead >= 0xe0U) {
    code = ((lead & 0x0fU) << 12U) | (rest(1) << 6U) | rest(2);
    length = 3;
  } else if (lead >= 0xc0U) {
    code = ((lead & 0x1fU) << 6U) | rest(1);
    length = 2;
  }
  at += length;
  return code;
}

// The last character of a text that is not empty; `length` becomes its bytes.
char32_t last_character(std::string_view text, std::size_t& length);

void append_character(char32_t code, std::string& text);

bool is_white_space(char32_t code);  // White_Space.
bool is_numeric(char32_t code);      // General categories Nd, Nl, No.
bool is_punctuation(char32_t code);  // General category P, and ASCII's $+<=>^`|~.
bool is_word(char32_t code);         // \w of UTS #18: Alphabetic, M, Nd, Pc, Join_Control.

// The text without white space at its beginning or at its end.
std::string_view without_white_space_before(std::string_view text);
std::string_view without_white_space_behind(std::string_view text);

}  // namespace headroom::tokens
