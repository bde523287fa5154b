// SPDX-License-Identifier: Apache-2.0
#include "machine/initramfs_walk.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "machine/decompressor.h"
#include "machine/uki.h"

namespace headroom::machine {
namespace {

// Uncompressed bytes in order; what is passed over is not read.
class PlainStream : public ByteStream {
 public:
  PlainStream(const RandomAccess& bytes, std::uint64_t offset) : bytes_(bytes), position_(offset) {}
  std::uint64_t position() const { return position_; }

  Result<std::size_t> read(std::span<char> buffer) override {
    const bool buffered =
        position_ >= window_at_ && position_ + buffer.size() <= window_at_ + window_size_;
    if (!buffered && buffer.size() > window_.size()) {
      HEADROOM_TRY(const std::size_t got, bytes_.read_at(position_, buffer));
      position_ += got;
      return got;
    }
    if (!buffered) {
      HEADROOM_TRY(window_size_, bytes_.read_at(position_, window_));
      window_at_ = position_;
    }
    const auto from = static_cast<std::size_t>(position_ - window_at_);
    const std::size_t count = std::min(buffer.size(), window_size_ - from);
    std::copy_n(window_.begin() + static_cast<std::ptrdiff_t>(from), count, buffer.begin());
    position_ += count;
    return count;
  }

  Result<std::uint64_t> skip(std::uint64_t count) override {
    const std::uint64_t left = bytes_.size() - std::min(position_, bytes_.size());
    const std::uint64_t passed = std::min(count, left);
    position_ += passed;
    return passed;
  }

 private:
  const RandomAccess& bytes_;
  std::uint64_t position_;
  std::array<char, 4096> window_{};
  std::uint64_t window_at_ = 0;
  std::size_t window_size_ = 0;
};

class Walk {
 public:
  Walk(const RandomAccess& image, CpioVisitor& visitor, CpioLimits limits)
      : image_(image), visitor_(visitor), limits_(limits) {}

  Status all() {
    for (;;) {
      HEADROOM_CHECK(pass_zeros());
      if (position_ >= image_.size()) break;
      HEADROOM_CHECK(part());
    }
    if (archives_ > 0) return Done{};
    return Error{Errc::invalid,
                 image_.size() == 0 ? "expected an initramfs image, found an empty file"
                                    : "expected an initramfs image, found nothing but zero bytes",
                 ""};
  }

 private:
  Status pass_zeros() {
    std::vector<char> block(std::size_t{64} << 10U);
    for (;;) {
      HEADROOM_TRY(const std::size_t got, image_.read_at(position_, block));
      const auto end = block.begin() + static_cast<std::ptrdiff_t>(got);
      const auto other = std::find_if(block.begin(), end, [](char c) { return c != '\0'; });
      position_ += static_cast<std::uint64_t>(other - block.begin());
      if (other != end || got == 0) return Done{};
    }
  }

  // One archive, or one compressed part with its archives.
  Status part() {
    std::array<char, 8> start{};
    HEADROOM_TRY(const std::size_t got, image_.read_at(position_, start));
    const std::string_view text(start.data(), got);
    const std::uint64_t from = position_;
    const auto here = [from](Error error) {
      return std::move(error).in(fmt::format("at byte {} of the image", from));
    };
    if (text.starts_with("0707") && position_ % 4 == 0) {
      PlainStream stream(image_, position_);
      if (auto read = CpioReader(stream, visitor_, limits_).read_archive({}); !read) {
        return here(std::move(read).error());
      }
      ++archives_;
      position_ = stream.position();
      return Done{};
    }
    const auto compression = find_compression(text);
    if (!compression) return here(no_beginning(text));
    if (auto read = compressed_part(*compression); !read) return here(std::move(read).error());
    return Done{};
  }

  static Error no_beginning(std::string_view text) {
    std::string shown;
    for (const char c : text) {
      shown += fmt::format("{}{:02x}", shown.empty() ? "" : " ", static_cast<unsigned char>(c));
    }
    if (text.starts_with("\x04\x22\x4d\x18")) {
      return {Errc::invalid,
              "compressed in lz4's frame format, which the kernel does not unpack (lz4 -l writes "
              "the one that it does)",
              ""};
    }
    return {Errc::invalid,
            "expected a cpio archive or a compressed part, as an initramfs image has them, found "
            "the bytes " +
                shown,
            ""};
  }

  Status compressed_part(Compression compression) {
    HEADROOM_TRY(const auto stream, Decompressor::open(compression, image_, position_));
    const int before = archives_;
    // Archives begin at multiples of four, and zero bytes fill what is between them.
    for (std::array<char, 4> word{};;) {
      HEADROOM_CHECK(stream->skip_zeros());
      HEADROOM_TRY(const std::size_t got, stream->read(word));
      const std::string_view text(word.data(), got);
      if (text.find_first_not_of('\0') == std::string_view::npos) break;  // The end.
      HEADROOM_CHECK(CpioReader(*stream, visitor_, limits_).read_archive(text));
      ++archives_;
    }
    const std::uint64_t end = stream->end_offset();
    if (archives_ == before || end <= position_) {
      return Error{
          Errc::invalid,
          fmt::format("the part compressed with {} holds no archive", to_string(compression)), ""};
    }
    position_ = end;
    return Done{};
  }

  const RandomAccess& image_;
  CpioVisitor& visitor_;
  CpioLimits limits_;
  std::uint64_t position_ = 0;
  int archives_ = 0;
};

}  // namespace

Status walk_initramfs(const RandomAccess& image, CpioVisitor& visitor, CpioLimits limits) {
  HEADROOM_TRY(const auto inside, find_uki_initrd(image));
  if (!inside) return Walk(image, visitor, limits).all();
  const Section section(image, inside->offset, inside->size);
  if (auto walked = Walk(section, visitor, limits).all(); !walked) {
    return std::move(walked).error().in("in the section .initrd");
  }
  return Done{};
}

}  // namespace headroom::machine
