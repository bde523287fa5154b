// SPDX-License-Identifier: Apache-2.0
#include "tokens/sentencepiece/wire.h"

#include <fmt/format.h>

namespace headroom::tokens {
namespace {

constexpr std::uint64_t largest_number = (1U << 29U) - 1;  // Of a field.

}  // namespace

Error WireReader::wrong(std::string_view expected) const {
  return {Errc::invalid,
          fmt::format("expected {} at byte {} of a message of {} bytes", expected, at_,
                      message_.size()),
          "get the file again: it is cut or damaged, or of another format"};
}

Result<std::uint64_t> WireReader::take_varint() {
  constexpr unsigned bits_of_byte = 7;
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < 64; shift += bits_of_byte) {
    if (at_ == message_.size()) return wrong("the rest of a number");
    const auto byte = static_cast<unsigned char>(message_[at_++]);
    value |= std::uint64_t{byte & 0x7fU} << shift;
    if (byte < 0x80U) return value;
  }
  return wrong("the end of a number of at most ten bytes");
}

Result<std::uint64_t> WireReader::take_fixed(std::size_t size) {
  if (message_.size() - at_ < size) return wrong(fmt::format("{} bytes of a number", size));
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < size; ++i)
    value |= std::uint64_t{static_cast<unsigned char>(message_[at_ + i])} << (8 * i);
  at_ += size;
  return value;
}

Result<bool> WireReader::next(WireField& field) {
  if (at_ == message_.size()) return false;
  HEADROOM_TRY(const std::uint64_t tag, take_varint());
  field = {.number = tag >> 3U, .type = static_cast<WireType>(tag & 7U)};
  if (field.number == 0 || field.number > largest_number) return wrong("a field");
  switch (field.type) {
    case WireType::varint: {
      HEADROOM_TRY(field.value, take_varint());
      return true;
    }
    case WireType::fixed64: {
      HEADROOM_TRY(field.value, take_fixed(8));
      return true;
    }
    case WireType::fixed32: {
      HEADROOM_TRY(field.value, take_fixed(4));
      return true;
    }
    case WireType::bytes: {
      HEADROOM_TRY(const std::uint64_t length, take_varint());
      if (length > message_.size() - at_)
        return wrong(fmt::format("{} bytes, as the length before them says,", length));
      field.bytes = message_.substr(at_, length);
      at_ += length;
      return true;
    }
  }
  return wrong("a field of a known type");
}

}  // namespace headroom::tokens
