// SPDX-License-Identifier: Apache-2.0
#include "machine/compressed_length.h"

#include <fmt/format.h>

#include <array>

namespace headroom::machine {
namespace {

constexpr std::uint32_t zstd_magic = 0xfd2fb528;
constexpr std::uint32_t zstd_skippable = 0x184d2a50;  // And the fifteen numbers after it.
constexpr std::uint32_t lz4_magic = 0x184c2102;
// A block holds 8 MiB at most; incompressible ones grow by 1/255 and 16 bytes.
constexpr std::uint32_t lz4_block_max = (8U << 20U) + (8U << 20U) / 255 + 16;

Error cut_short(Compression compression) {
  return {
      Errc::invalid,
      fmt::format("the part compressed with {} is damaged or cut short", to_string(compression)),
      ""};
}

// Numbers of up to four bytes, the lowest first; nullopt where the bytes end.
class Walk {
 public:
  Walk(const RandomAccess& packed, std::uint64_t offset) : packed_(packed), position_(offset) {}
  std::uint64_t position() const { return position_; }
  bool skip(std::uint64_t count) {
    if (count > packed_.size() - position_) return false;
    position_ += count;
    return true;
  }
  // Does not move.
  Result<std::optional<std::uint32_t>> peek(std::size_t bytes) const {
    std::array<char, 4> raw{};
    HEADROOM_TRY(const std::size_t got, packed_.read_at(position_, std::span(raw).first(bytes)));
    if (got < bytes) return std::optional<std::uint32_t>();
    std::uint32_t value = 0;
    for (std::size_t i = 0; i < bytes; ++i) {
      value |= static_cast<std::uint32_t>(static_cast<unsigned char>(raw[i])) << (8 * i);
    }
    return std::optional(value);
  }
  Result<std::optional<std::uint32_t>> take(std::size_t bytes) {
    HEADROOM_TRY(const auto value, peek(bytes));
    if (value) position_ += bytes;
    return value;
  }

 private:
  const RandomAccess& packed_;
  std::uint64_t position_;
};

// The blocks of a frame whose magic has been read: false where they are cut short.
Result<bool> pass_zstd_frame(Walk& walk) {
  HEADROOM_TRY(const auto descriptor, walk.take(1));
  if (!descriptor) return false;
  constexpr std::array<std::uint64_t, 4> dictionary_bytes = {0, 1, 2, 4};
  constexpr std::array<std::uint64_t, 4> content_bytes = {0, 2, 4, 8};
  const bool single = (*descriptor & 0x20U) != 0;
  const std::uint32_t size_flag = *descriptor >> 6U;
  const std::uint64_t rest = dictionary_bytes[*descriptor & 3U] + (single ? 0 : 1) +
                             (single && size_flag == 0 ? 1 : content_bytes[size_flag]);
  if (!walk.skip(rest)) return false;
  for (bool last = false; !last;) {
    HEADROOM_TRY(const auto block, walk.take(3));
    if (!block) return false;
    last = (*block & 1U) != 0;
    const std::uint32_t type = (*block >> 1U) & 3U;  // Raw, one byte repeated, compressed, none.
    if (type == 3 || !walk.skip(type == 1 ? 1 : *block >> 3U)) return false;
  }
  return (*descriptor & 4U) == 0 || walk.skip(4);
}

// Frame after frame.
Result<bool> pass_zstd(Walk& walk) {
  for (;;) {
    HEADROOM_TRY(const auto magic, walk.peek(4));
    const bool skippable = magic && (*magic & ~0xfU) == zstd_skippable;
    if (!magic || (*magic != zstd_magic && !skippable)) return true;
    walk.skip(4);
    if (skippable) {
      HEADROOM_TRY(const auto length, walk.take(4));
      if (!length || !walk.skip(*length)) return false;
    } else {
      HEADROOM_TRY(const bool whole, pass_zstd_frame(walk));
      if (!whole) return false;
    }
  }
}

// Blocks until something that cannot be the length of one: the end, zero bytes, or an archive.
Result<bool> pass_lz4(Walk& walk) {
  for (;;) {
    HEADROOM_TRY(const auto length, walk.peek(4));
    if (!length || *length == 0 || (*length > lz4_block_max && *length != lz4_magic)) return true;
    walk.skip(4);
    if (*length != lz4_magic && !walk.skip(*length)) return false;
  }
}

}  // namespace

Result<std::optional<std::uint64_t>> compressed_length(Compression compression,
                                                       const RandomAccess& packed,
                                                       std::uint64_t offset) {
  if (compression != Compression::zstd && compression != Compression::lz4_legacy) {
    return std::optional<std::uint64_t>();
  }
  Walk walk(packed, offset);
  HEADROOM_TRY(const bool whole,
               compression == Compression::zstd ? pass_zstd(walk) : pass_lz4(walk));
  if (!whole) return cut_short(compression);
  return std::optional(walk.position() - offset);
}

}  // namespace headroom::machine
