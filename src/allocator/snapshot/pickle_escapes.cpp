// SPDX-License-Identifier: Apache-2.0
#include "allocator/snapshot/pickle_escapes.h"

#include <cstdint>

#include "base/text.h"

namespace headroom::allocator {
namespace {

void append_utf8(std::string& text, std::uint64_t code) {
  const auto byte = [&text](std::uint64_t bits) { text += static_cast<char>(bits); };
  if (code < 0x80) {
    byte(code);
  } else if (code < 0x800) {
    byte(0xC0U | (code >> 6U));
    byte(0x80U | (code & 0x3FU));
  } else if (code < 0x10000) {
    byte(0xE0U | (code >> 12U));
    byte(0x80U | ((code >> 6U) & 0x3FU));
    byte(0x80U | (code & 0x3FU));
  } else {
    byte(0xF0U | (code >> 18U));
    byte(0x80U | ((code >> 12U) & 0x3FU));
    byte(0x80U | ((code >> 6U) & 0x3FU));
    byte(0x80U | (code & 0x3FU));
  }
}

std::optional<std::uint64_t> hex_digits(std::string_view text, std::size_t at, std::size_t count) {
  if (text.size() < at + count) return std::nullopt;
  const std::string_view digits = text.substr(at, count);
  if (digits.find_first_not_of("0123456789abcdefABCDEF") != digits.npos) return std::nullopt;
  return parse_hex(digits);
}

std::optional<char> simple_escape(char letter) {
  constexpr std::string_view letters = "\\'\"nrtabfv0";
  constexpr std::string_view meanings{"\\'\"\n\r\t\a\b\f\v\0", 11};
  const std::size_t at = letters.find(letter);
  if (at == letters.npos) return std::nullopt;
  return meanings[at];
}

}  // namespace

std::optional<std::string> unescape_literal(std::string_view quoted) {
  if (quoted.size() < 2 || quoted.front() != quoted.back()) return std::nullopt;
  if (quoted.front() != '\'' && quoted.front() != '"') return std::nullopt;
  quoted = quoted.substr(1, quoted.size() - 2);
  std::string text;
  for (std::size_t i = 0; i < quoted.size(); ++i) {
    if (quoted[i] != '\\') {
      text += quoted[i];
      continue;
    }
    if (++i == quoted.size()) return std::nullopt;
    if (quoted[i] == 'x') {
      const auto code = hex_digits(quoted, i + 1, 2);
      if (!code) return std::nullopt;
      text += static_cast<char>(*code);
      i += 2;
    } else if (const auto meant = simple_escape(quoted[i])) {
      text += *meant;
    } else {
      text += '\\';
      text += quoted[i];
    }
  }
  return text;
}

std::optional<std::string> unescape_unicode(std::string_view line) {
  std::string text;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const bool escape = line[i] == '\\' && i + 1 < line.size();
    if (!escape || (line[i + 1] != 'u' && line[i + 1] != 'U')) {
      append_utf8(text, static_cast<unsigned char>(line[i]));
      continue;
    }
    const std::size_t digits = line[i + 1] == 'u' ? 4 : 8;
    const auto code = hex_digits(line, i + 2, digits);
    if (!code || *code > 0x10FFFF) return std::nullopt;
    append_utf8(text, *code);
    i += 1 + digits;
  }
  return text;
}

}  // namespace headroom::allocator
