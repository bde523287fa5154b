// SPDX-License-Identifier: Apache-2.0
// SentencePiece models as their files have them, for tests.
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tokens/sentencepiece/piece_model.h"

namespace headroom::tokens::testing {

inline std::string varint(std::uint64_t value) {
  std::string bytes;
  for (; value >= 0x80U; value >>= 7U) bytes += static_cast<char>((value & 0x7fU) | 0x80U);
  return bytes + static_cast<char>(value);
}

inline std::string number_field(std::uint64_t field, std::uint64_t value) {
  return varint(field << 3U) + varint(value);
}

inline std::string bytes_field(std::uint64_t field, std::string_view bytes) {
  return varint((field << 3U) | 2U) + varint(bytes.size()) + std::string(bytes);
}

inline std::string little_endian(std::uint32_t value) {
  std::string bytes;
  for (unsigned shift = 0; shift < 32; shift += 8)
    bytes += static_cast<char>((value >> shift) & 0xffU);
  return bytes;
}

inline std::string piece_field(const Piece& piece) {
  const auto score = std::bit_cast<std::uint32_t>(piece.score);
  return bytes_field(1, bytes_field(1, piece.text) + varint((2U << 3U) | 5U) +
                            little_endian(score) +
                            number_field(3, static_cast<std::uint64_t>(piece.kind)));
}

inline std::string model_bytes(const std::vector<Piece>& pieces, const std::string& trainer,
                               const std::string& normalizer) {
  std::string bytes;
  for (const Piece& piece : pieces) bytes += piece_field(piece);
  return bytes + bytes_field(2, trainer) + bytes_field(3, normalizer);
}

inline const Piece unknown{"<unk>", 0, Piece::Kind::unknown};
inline const Piece begin{"<s>", 0, Piece::Kind::control};
inline const Piece end{"</s>", 0, Piece::Kind::control};

// Byte pairs of "ab" and "abc", and blanks before words.
inline std::vector<Piece> few_pieces() {
  return {unknown,   begin,     end,       {"ab", -1},          {"abc", -2},
          {"a", -3}, {"b", -4}, {"c", -5}, {"\xe2\x96\x81", -6}};
}
inline std::string bpe() {
  return number_field(3, 2);
}
// Neither a blank before a text nor fewer blanks in it.
inline std::string plain() {
  return number_field(3, 0) + number_field(4, 0);
}

}  // namespace headroom::tokens::testing
