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

constexpr std::string_view replacement = "\xEF\xBF\xBD";  // U+FFFD

// The size of the character that begins here; 0 if it is none (RFC 3629).
std::size_t size_of_character(std::string_view text) {
  const auto byte = [&](std::size_t at) -> unsigned {
    return at < text.size() ? static_cast<unsigned char>(text[at]) : 0U;
  };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  if (first < 0xC2 || first > 0xF4) return 0;
  // The second byte's range keeps out overlong forms, surrogates and what is beyond U+10FFFF.
  const unsigned least = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
  const unsigned most = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
  if (byte(1) < least || byte(1) > most) return 0;
  const std::size_t size = first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  for (std::size_t i = 2; i < size; ++i) {
    if ((byte(i) & 0xC0U) != 0x80) return 0;
  }
  return size;
}

bool is_control(std::string_view character) {
  const auto first = static_cast<unsigned char>(character[0]);
  if (character.size() == 1) return (first < 0x20 && first != '\t') || first == 0x7F;
  return first == 0xC2 && static_cast<unsigned char>(character[1]) < 0xA0;  // C1.
}

bool has(std::string_view text, char byte) {
  return !text.empty() && std::memchr(text.data(), byte, text.size()) != nullptr;
}

}  // namespace

Encoding detect_encoding(std::string_view bytes) {
  constexpr std::size_t enough = 64;
  if (bytes.substr(0, 2) == "\xFF\xFE") return Encoding::utf16_le;
  if (bytes.substr(0, 2) == "\xFE\xFF") return Encoding::utf16_be;
  if (bytes.size() < 4) return Encoding::unknown;
  if (!has(bytes.substr(0, 4), '\0')) return Encoding::utf8;
  if (bytes.size() < enough) return Encoding::unknown;
  std::size_t even = 0, odd = 0;
  for (std::size_t i = 0; i < enough; ++i) {
    if (bytes[i] == '\0') ++(i % 2 == 0 ? even : odd);
  }
  // Latin text has a NUL in every second byte; binary rubbish has them anywhere.
  if (even == 0 && odd * 3 >= enough) return Encoding::utf16_le;
  if (odd == 0 && even * 3 >= enough) return Encoding::utf16_be;
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
      text += replacement;
    }
  }
  return text;
}

std::string without_backspaces(std::string_view line) {
  std::string text;
  for (const char byte : line) {
    if (byte != '\b') {
      text.push_back(byte);
      continue;
    }
    while (!text.empty() && (static_cast<unsigned char>(text.back()) & 0xC0U) == 0x80) {
      text.pop_back();
    }
    if (!text.empty()) text.pop_back();
  }
  return text;
}

std::string to_shown(std::string_view text, std::size_t longest) {
  std::string shown;
  while (!text.empty()) {
    const std::size_t size = size_of_character(text);
    const std::string_view character = size == 0 ? replacement : text.substr(0, size);
    if (!is_control(character)) {
      if (shown.size() + character.size() > longest) break;
      shown += character;
    }
    text.remove_prefix(std::max(size, std::size_t{1}));
  }
  return shown;
}

std::string_view Decoder::decode(std::string_view bytes) {
  if (encoding_ != Encoding::unknown) return without_sequences(to_utf8(bytes));
  head_ += bytes;
  encoding_ = detect_encoding(head_);
  if (encoding_ == Encoding::unknown) return {};
  std::string_view head = head_;
  if (encoding_ != Encoding::utf8 && (head[0] == '\xFF' || head[0] == '\xFE')) {
    head.remove_prefix(2);
  } else if (head.starts_with("\xEF\xBB\xBF")) {
    head.remove_prefix(3);
  }
  return without_sequences(to_utf8(head));
}

std::string_view Decoder::finish() {
  if (encoding_ != Encoding::unknown) return {};
  encoding_ = Encoding::utf8;
  return without_sequences(head_);
}

std::string_view Decoder::to_utf8(std::string_view bytes) {
  if (encoding_ == Encoding::utf8) return bytes;
  odd_ += bytes;
  // A pair of surrogates stays together.
  std::size_t whole = odd_.size() / 2 * 2;
  if (whole >= 2) {
    const char high = odd_[encoding_ == Encoding::utf16_le ? whole - 1 : whole - 2];
    if ((static_cast<unsigned char>(high) & 0xFCU) == 0xD8) whole -= 2;
  }
  utf8_ = utf16_to_utf8(std::string_view(odd_).substr(0, whole), encoding_);
  odd_.erase(0, whole);
  return utf8_;
}

std::string_view Decoder::without_sequences(std::string_view text) {
  if (sequence_ == Sequence::none && !has(text, '\x1b') && !has(text, '\0')) return text;
  cleaned_.clear();
  for (std::size_t i = 0; i < text.size();) {
    if (sequence_ != Sequence::none) {
      take_sequence_byte(text[i++]);
      continue;
    }
    const std::size_t begin = i;
    while (i < text.size() && text[i] != '\x1b' && text[i] != '\0') ++i;
    cleaned_ += text.substr(begin, i - begin);
    if (i == text.size()) break;
    if (text[i] == '\x1b') {
      sequence_ = Sequence::escape;
      sequence_size_ = 0;
      ++i;
    } else {  // They come in thousands, from sparse files.
      while (i < text.size() && text[i] == '\0') ++i;
    }
  }
  return cleaned_;
}

// A sequence ends at the line's end at the latest, and one that is too long was none.
void Decoder::take_sequence_byte(char byte) {
  constexpr std::size_t longest_sequence = 4096;
  const auto is_between = [&](char from, char to) { return byte >= from && byte <= to; };
  const auto end = [&](bool takes_byte) {
    sequence_ = Sequence::none;
    if (!takes_byte && byte != '\0') cleaned_.push_back(byte);
  };
  if (byte == '\n' || ++sequence_size_ > longest_sequence) return end(false);
  if (byte == '\x1b') {
    sequence_ = sequence_ == Sequence::string ? Sequence::string_escape : Sequence::escape;
    return;
  }
  switch (sequence_) {
    case Sequence::string_escape:
      if (byte == '\\') return end(true);
      [[fallthrough]];
    case Sequence::escape:
      if (byte == '[') {
        sequence_ = Sequence::control;
      } else if (byte == ']' || byte == 'P' || byte == 'X' || byte == '^' || byte == '_') {
        sequence_ = Sequence::string;
      } else if (is_between(' ', '/')) {
        sequence_ = Sequence::charset;
      } else {
        end(is_between('0', '~'));
      }
      return;
    case Sequence::charset:
      if (!is_between(' ', '/')) end(is_between('0', '~'));
      return;
    case Sequence::control:
      if (!is_between(' ', '?')) end(is_between('@', '~'));
      return;
    case Sequence::string:
      if (byte == '\a') end(true);
      return;
    case Sequence::none:
      return;
  }
}

}  // namespace headroom::logs
