// SPDX-License-Identifier: Apache-2.0
#include "base/encoding.h"

#include <cstdint>

namespace headroom {
namespace {

constexpr std::string_view alphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

std::uint32_t byte_at(std::string_view bytes, std::size_t i) {
  return i < bytes.size() ? static_cast<unsigned char>(bytes[i]) : 0;
}

// Of the sequence that begins with `lead`: its length, and the range of its second byte, which is
// what forbids overlong forms, surrogates and numbers above U+10FFFF.
struct Sequence {
  std::size_t length = 0;  // 0: no sequence begins so.
  std::uint32_t low = 0x80, high = 0xbf;
};

Sequence sequence_of(std::uint32_t lead) {
  if (lead < 0x80) return {1};
  if (lead >= 0xc2 && lead <= 0xdf) return {2};
  if (lead == 0xe0) return {3, 0xa0, 0xbf};
  if (lead == 0xed) return {3, 0x80, 0x9f};
  if (lead >= 0xe1 && lead <= 0xef) return {3};
  if (lead == 0xf0) return {4, 0x90, 0xbf};
  if (lead == 0xf4) return {4, 0x80, 0x8f};
  if (lead >= 0xf1 && lead <= 0xf3) return {4};
  return {};
}

}  // namespace

CodePoint first_code_point(std::string_view bytes) {
  const std::uint32_t lead = byte_at(bytes, 0);
  const Sequence sequence = sequence_of(lead);
  if (sequence.length == 0 || sequence.length > bytes.size()) return {};
  if (sequence.length == 1) return {lead, 1, true};
  char32_t value = lead & (0x7fU >> sequence.length);
  for (std::size_t k = 1; k < sequence.length; ++k) {
    const std::uint32_t low = k == 1 ? sequence.low : 0x80;
    const std::uint32_t high = k == 1 ? sequence.high : 0xbf;
    const std::uint32_t byte = byte_at(bytes, k);
    if (byte < low || byte > high) return {};
    value = value << 6U | (byte & 0x3fU);
  }
  return {value, sequence.length, true};
}

bool is_utf8(std::string_view bytes) {
  while (!bytes.empty()) {
    const CodePoint next = first_code_point(bytes);
    if (!next.is_valid) return false;
    bytes.remove_prefix(next.length);
  }
  return true;
}

std::string to_base64(std::string_view bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::uint32_t group =
        byte_at(bytes, i) << 16U | byte_at(bytes, i + 1) << 8U | byte_at(bytes, i + 2);
    text += alphabet[group >> 18U];
    text += alphabet[group >> 12U & 63U];
    text += i + 1 < bytes.size() ? alphabet[group >> 6U & 63U] : '=';
    text += i + 2 < bytes.size() ? alphabet[group & 63U] : '=';
  }
  return text;
}

std::optional<std::string> from_base64(std::string_view text) {
  std::string bytes;
  std::uint32_t group = 0;
  std::size_t digits = 0;
  std::string_view body = text;
  while (body.ends_with('=')) body.remove_suffix(1);
  for (const char c : body) {
    const std::size_t digit = alphabet.find(c);
    if (digit == std::string_view::npos) return std::nullopt;
    group = group << 6U | static_cast<std::uint32_t>(digit);
    if (++digits % 4 != 0) continue;
    for (const unsigned shift : {16U, 8U, 0U}) bytes += static_cast<char>(group >> shift & 255U);
    group = 0;
  }
  if (digits % 4 == 2) bytes += static_cast<char>(group >> 4U & 255U);
  if (digits % 4 == 3) {
    bytes += static_cast<char>(group >> 10U & 255U);
    bytes += static_cast<char>(group >> 2U & 255U);
  }
  // One spelling for each sequence of bytes: padding and the bits that no byte takes included.
  if (to_base64(bytes) != text) return std::nullopt;
  return bytes;
}

}  // namespace headroom
