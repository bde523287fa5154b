// SPDX-License-Identifier: Apache-2.0
#include "logs/decode.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace headroom::logs {
namespace {

void append_utf8(std::string& text, std::uint32_t point) {
  const auto put = [&](std::uint32_t byte) { text.push_back(static_cast<char>(byte)); };
  if (point < 0x80) {
    put(point);
  } else if (point < 0x800) {
    put(0xC0U | (point >> 6U));
    put(0x80U | (point & 0x3FU));
  } else if (point < 0x10000) {
    put(0xE0U | (point >> 12U));
    put(0x80U | ((point >> 6U) & 0x3FU));
    put(0x80U | (point & 0x3FU));
  } else {
    put(0xF0U | (point >> 18U));
    put(0x80U | ((point >> 12U) & 0x3FU));
    put(0x80U | ((point >> 6U) & 0x3FU));
    put(0x80U | (point & 0x3FU));
  }
}

// Where the terminal sequence that begins at `at` (an ESC) ends. One that the text ends in runs to
// its end, but never over a line's.
std::size_t end_of_escape(std::string_view text, std::size_t at) {
  std::size_t next = at + 1;
  if (next >= text.size()) return text.size();
  const char kind = text[next];
  if (kind == '[') {
    for (++next; next < text.size(); ++next) {
      if (text[next] == '\n') return next;
      if (text[next] >= '@' && text[next] <= '~') return next + 1;
    }
    return text.size();
  }
  if (kind == ']') {
    for (++next; next < text.size(); ++next) {
      if (text[next] == '\n') return next;
      if (text[next] == '\a') return next + 1;
      if (text[next] == '\\' && text[next - 1] == '\x1b') return next + 1;
    }
    return text.size();
  }
  return kind == '\n' ? next : next + 1;
}

}  // namespace

Encoding detect_encoding(std::string_view bytes) {
  if (bytes.size() < 4) return Encoding::unknown;
  if (bytes.substr(0, 2) == "\xFF\xFE") return Encoding::utf16_le;
  if (bytes.substr(0, 2) == "\xFE\xFF") return Encoding::utf16_be;
  const std::string_view head = bytes.substr(0, 64);
  std::size_t even = 0, odd = 0;
  for (std::size_t i = 0; i < head.size(); ++i) {
    if (head[i] == '\0') ++(i % 2 == 0 ? even : odd);
  }
  // Latin text has a NUL in every second byte; binary rubbish has them anywhere.
  if (even == 0 && odd * 3 >= head.size()) return Encoding::utf16_le;
  if (odd == 0 && even * 3 >= head.size()) return Encoding::utf16_be;
  return Encoding::utf8;
}

std::string utf16_to_utf8(std::string_view bytes, Encoding encoding) {
  const auto unit = [&](std::size_t at) -> std::uint32_t {
    const auto first = static_cast<unsigned char>(bytes[at]);
    const auto second = static_cast<unsigned char>(bytes[at + 1]);
    return encoding == Encoding::utf16_le ? first | (std::uint32_t{second} << 8U)
                                          : second | (std::uint32_t{first} << 8U);
  };
  std::string text;
  text.reserve(bytes.size() / 2);
  for (std::size_t i = 0; i + 1 < bytes.size(); i += 2) {
    const std::uint32_t high = unit(i);
    if (high < 0xD800 || high > 0xDFFF) {
      append_utf8(text, high);
      continue;
    }
    const std::uint32_t low = i + 3 < bytes.size() ? unit(i + 2) : 0;
    if (high <= 0xDBFF && low >= 0xDC00 && low <= 0xDFFF) {
      append_utf8(text, 0x10000 + ((high - 0xD800) << 10U) + (low - 0xDC00));
      i += 2;
    } else {
      append_utf8(text, 0xFFFD);
    }
  }
  return text;
}

bool needs_cleaning(std::string_view text) {
  const auto has = [&](char byte) {
    return std::memchr(text.data(), byte, text.size()) != nullptr;
  };
  return !text.empty() && (has('\x1b') || has('\0') || has('\r') || has('\b'));
}

std::string clean(std::string_view text) {
  std::string cleaned;
  cleaned.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char byte = text[i];
    if (byte == '\x1b') {
      i = end_of_escape(text, i) - 1;
    } else if (byte == '\r') {
      // A progress bar writes its line anew; the parts stay apart.
      if (i + 1 < text.size() && text[i + 1] != '\n') cleaned.push_back(' ');
    } else if (byte != '\0' && byte != '\b') {
      cleaned.push_back(byte);
    }
  }
  return cleaned;
}

}  // namespace headroom::logs
