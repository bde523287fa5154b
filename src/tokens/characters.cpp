// SPDX-License-Identifier: Apache-2.0
#include "tokens/characters.h"

#include <utf8proc.h>

namespace headroom::tokens {
namespace {

int category_of(char32_t code) {
  return utf8proc_category(static_cast<utf8proc_int32_t>(code));
}

// Letters in circles and squares: Other_Alphabetic of PropList.txt that are neither letter nor
// mark.
bool is_enclosed_letter(char32_t code) {
  return (code >= 0x24b6 && code <= 0x24e9) || (code >= 0x1f130 && code <= 0x1f149) ||
         (code >= 0x1f150 && code <= 0x1f169) || (code >= 0x1f170 && code <= 0x1f189);
}

}  // namespace

char32_t last_character(std::string_view text, std::size_t& length) {
  std::size_t begin = text.size() - 1;
  while (begin > 0 && (static_cast<unsigned char>(text[begin]) & 0xc0U) == 0x80U) --begin;
  length = text.size() - begin;
  return take_character(text, begin);
}

void append_character(char32_t code, std::string& text) {
  const auto add = [&](char32_t value) { text += static_cast<char>(value); };
  const auto add_rest = [&](unsigned shift) { add(0x80U | ((code >> shift) & 0x3fU)); };
  if (code < 0x80) {
    add(code);
  } else if (code < 0x800) {
    add(0xc0U | (code >> 6U));
    add_rest(0);
  } else if (code < 0x10000) {
    add(0xe0U | (code >> 12U));
    add_rest(6);
    add_rest(0);
  } else {
    add(0xf0U | (code >> 18U));
    add_rest(12);
    add_rest(6);
    add_rest(0);
  }
}

bool is_white_space(char32_t code) {
  if (code < 0x80) return code == ' ' || (code >= '\t' && code <= '\r');
  return code == 0x85 || code == 0xa0 || code == 0x1680 || (code >= 0x2000 && code <= 0x200a) ||
         code == 0x2028 || code == 0x2029 || code == 0x202f || code == 0x205f || code == 0x3000;
}

bool is_numeric(char32_t code) {
  if (code < 0x80) return code >= '0' && code <= '9';
  const int category = category_of(code);
  return category >= UTF8PROC_CATEGORY_ND && category <= UTF8PROC_CATEGORY_NO;
}

bool is_punctuation(char32_t code) {
  if (code < 0x80 &&
      std::string_view("$+<=>^`|~").find(static_cast<char>(code)) != std::string_view::npos)
    return true;
  const int category = category_of(code);
  return category >= UTF8PROC_CATEGORY_PC && category <= UTF8PROC_CATEGORY_PO;
}

bool is_word(char32_t code) {
  const int category = category_of(code);
  if (category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_NL)
    return true;  // L, M, Nd
  return category == UTF8PROC_CATEGORY_PC || code == 0x200c || code == 0x200d ||
         is_enclosed_letter(code);
}

std::string_view without_white_space_before(std::string_view text) {
  std::size_t begin = 0;
  for (std::size_t at = 0; at < text.size(); begin = at)
    if (!is_white_space(take_character(text, at))) break;
  return text.substr(begin);
}

std::string_view without_white_space_behind(std::string_view text) {
  while (!text.empty()) {
    std::size_t length = 0;
    if (!is_white_space(last_character(text, length))) break;
    text.remove_suffix(length);
  }
  return text;
}

}  // namespace headroom::tokens
