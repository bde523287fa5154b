// SPDX-License-Identifier: Apache-2.0
// The fields of a message in protobuf's wire format, one after the other. Format:
// https://protobuf.dev/programming-guides/encoding. Groups, which proto3 has no more and
// SentencePiece never had, are refused.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"

namespace headroom::tokens {

enum class WireType : std::uint8_t { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };

struct WireField {
  std::uint64_t number = 0;
  WireType type = WireType::varint;
  std::uint64_t value = 0;      // Of a number: its bits.
  std::string_view bytes = {};  // Of bytes, texts and messages; a part of what is read.
};

class WireReader {
 public:
  // Requires: `message` outlives the reader and what it gives.
  explicit WireReader(std::string_view message) : message_(message) {}

  // The next field; false at the end. Fails (invalid) at the first byte that is none of a message,
  // also where a length reaches beyond the end, which is how a cut file shows.
  Result<bool> next(WireField& field);

 private:
  Result<std::uint64_t> take_varint();
  Result<std::uint64_t> take_fixed(std::size_t size);
  Error wrong(std::string_view expected) const;

  std::string_view message_;
  std::size_t at_ = 0;
};

}  // namespace headroom::tokens
