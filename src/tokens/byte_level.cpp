// SPDX-License-Identifier: Apache-2.0
#include "tokens/byte_level.h"

#include <array>

namespace headroom::tokens {
namespace {

constexpr std::size_t byte_count = 256;

// Those that can be seen in Latin-1 stand for themselves, the others for U+0100 and on in order.
constexpr bool is_visible(unsigned byte) {
  return (byte >= '!' && byte <= '~') || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
}

struct Letters {
  std::array<char32_t, byte_count> code{};
  std::array<std::array<char, 2>, byte_count>
      text{};                                       // UTF-8; the second is 0 where there is none.
  std::array<std::int16_t, byte_count * 2> byte{};  // Below U+0200; −1: none.
};

constexpr Letters make_letters() {
  Letters letters;
  letters.byte.fill(-1);
  char32_t next = 0x100;
  for (unsigned byte = 0; byte < byte_count; ++byte) {
    const char32_t code = is_visible(byte) ? byte : next++;
    letters.code[byte] = code;
    letters.byte[code] = static_cast<std::int16_t>(byte);
    letters.text[byte] = code < 0x80
                             ? std::array<char, 2>{static_cast<char>(code), '\0'}
                             : std::array<char, 2>{static_cast<char>(0xc0U | (code >> 6U)),
                                                   static_cast<char>(0x80U | (code & 0x3fU))};
  }
  return letters;
}

constexpr Letters letters = make_letters();

}  // namespace

void append_byte_level(std::string_view bytes_to_write, std::string& text) {
  for (const char byte : bytes_to_write) {
    const auto& letter = letters.text[static_cast<unsigned char>(byte)];
    text += letter[0];
    if (letter[1] != '\0') text += letter[1];
  }
}

std::optional<std::uint8_t> from_byte_level(char32_t code) {
  if (code >= letters.byte.size() || letters.byte[code] < 0) return std::nullopt;
  return static_cast<std::uint8_t>(letters.byte[code]);
}

}  // namespace headroom::tokens
