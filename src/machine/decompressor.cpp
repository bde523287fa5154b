// SPDX-License-Identifier: Apache-2.0
#include "machine/decompressor.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "machine/compressed_length.h"
#include "machine/libarchive.h"

namespace headroom::machine {
namespace {

constexpr std::size_t block_bytes = std::size_t{64} << 10U;
// A few packed MiB may unpack to hundreds of GiB of zeros, and nobody waits for that.
constexpr std::uint64_t most_unpacked = std::uint64_t{4} << 30U;

struct Known {
  Compression compression;
  std::string_view name;
  std::string_view magic;
  int filter;  // archive.h: ARCHIVE_FILTER_*.
};
using namespace std::string_view_literals;
constexpr std::array known = {
    Known{Compression::gzip, "gzip", "\x1f\x8b"sv, 1},
    Known{Compression::bzip2, "bzip2", "BZh"sv, 2},
    Known{Compression::lzma, "lzma", "\x5d\x00\x00"sv, 5},
    Known{Compression::xz, "xz", "\xfd\x37zXZ\x00"sv, 6},
    Known{Compression::lzo, "lzo", "\x89LZO"sv, 11},
    Known{Compression::lz4_legacy, "lz4", "\x02\x21\x4c\x18"sv, 13},
    Known{Compression::zstd, "zstd", "\x28\xb5\x2f\xfd"sv, 14},
};

const Known& row(Compression compression) {
  return *std::find_if(known.begin(), known.end(),
                       [&](const Known& it) { return it.compression == compression; });
}

// libarchive's "raw" format: one entry, whose data is what the filter yields.
class Unpacking : public Decompressor {
 public:
  Unpacking(const Libarchive& library, const Known& how, const RandomAccess& packed)
      : library_(library), how_(how), packed_(packed), archive_(library.read_new()) {}
  Unpacking(const Unpacking&) = delete;
  Unpacking& operator=(const Unpacking&) = delete;
  ~Unpacking() override { library_.read_free(archive_); }

  Status start(std::uint64_t offset) {
    offset_ = position_ = offset;
    end_ = packed_.size();
    // Others would run a program of that name, if there is one.
    if (library_.read_append_filter(archive_, how_.filter) != Libarchive::ok) {
      return Error{
          Errc::unsupported,
          fmt::format("compressed with {}, which the libarchive here cannot unpack", how_.name),
          ""};
    }
    HEADROOM_TRY(const auto length, compressed_length(how_.compression, packed_, offset));
    if (length) end_ = offset + *length;
    library_.read_support_format_raw(archive_);
    if (library_.read_open(archive_, this, nullptr, &Unpacking::give, nullptr) != Libarchive::ok) {
      return broken();
    }
    archive_entry* entry = nullptr;
    // What unpacks to nothing is no entry, and no archive either.
    if (library_.read_next_header(archive_, &entry) != Libarchive::ok) return broken();
    return Done{};
  }

  Result<std::size_t> read(std::span<char> buffer) override {
    std::size_t filled = 0;
    while (filled < buffer.size()) {
      HEADROOM_TRY(const auto ready, have(1));
      if (ready.empty()) break;
      const std::size_t count = std::min(ready.size(), buffer.size() - filled);
      std::copy_n(ready.begin(), count, buffer.begin() + static_cast<std::ptrdiff_t>(filled));
      unpacked_at_ += count;
      filled += count;
    }
    return filled;
  }

  Result<std::uint64_t> skip(std::uint64_t count) override {
    std::uint64_t passed = 0;
    while (passed < count) {
      HEADROOM_TRY(const auto ready, have(1));
      if (ready.empty()) break;
      const auto part =
          static_cast<std::size_t>(std::min<std::uint64_t>(ready.size(), count - passed));
      unpacked_at_ += part;
      passed += part;
    }
    return passed;
  }

  Status skip_zeros() override {
    constexpr std::string_view zeros("\0\0\0\0", 4);
    for (;;) {
      HEADROOM_TRY(const auto ready, have(zeros.size()));
      if (!std::string_view(ready.data(), ready.size()).starts_with(zeros)) return Done{};
      unpacked_at_ += zeros.size();
    }
  }

  std::uint64_t end_offset() const override {
    const std::int64_t consumed = library_.filter_bytes(archive_, -1);
    return std::min(end_,
                    offset_ + static_cast<std::uint64_t>(std::max<std::int64_t>(consumed, 0)));
  }

 private:
  // What is unpacked and not yet used: at least so many bytes, fewer only at the end.
  Result<std::span<const char>> have(std::size_t least) {
    if (unpacked_size_ - unpacked_at_ < least) {
      std::copy(unpacked_.begin() + static_cast<std::ptrdiff_t>(unpacked_at_),
                unpacked_.begin() + static_cast<std::ptrdiff_t>(unpacked_size_), unpacked_.begin());
      unpacked_size_ -= unpacked_at_;
      unpacked_at_ = 0;
      while (unpacked_size_ < unpacked_.size()) {
        const ssize_t count = library_.read_data(archive_, unpacked_.data() + unpacked_size_,
                                                 unpacked_.size() - unpacked_size_);
        if (count < 0) return broken();
        if (count == 0) break;
        unpacked_size_ += static_cast<std::size_t>(count);
        unpacked_in_all_ += static_cast<std::size_t>(count);
      }
      if (unpacked_in_all_ > most_unpacked) {
        return Error{Errc::invalid,
                     fmt::format("the part compressed with {} unpacks to more than 4 GiB, which "
                                 "headroom does not read",
                                 how_.name),
                     ""};
      }
    }
    return std::span<const char>(unpacked_).subspan(unpacked_at_, unpacked_size_ - unpacked_at_);
  }

  // libarchive asks for more packed bytes.
  static ssize_t give(archive*, void* self, const void** bytes) {
    return static_cast<Unpacking*>(self)->give_block(bytes);
  }
  ssize_t give_block(const void** bytes) {
    const auto count =
        static_cast<std::size_t>(std::min<std::uint64_t>(block_.size(), end_ - position_));
    auto got = packed_.read_at(position_, std::span(block_).first(count));
    if (!got) {
      failure_ = std::move(got).error();
      return -1;
    }
    position_ += *got;
    *bytes = block_.data();
    return static_cast<ssize_t>(*got);
  }

  Error broken() {
    if (failure_) return *failure_;
    const char* why = library_.error_string(archive_);
    return {Errc::invalid,
            fmt::format("the part compressed with {} is damaged or cut short ({})", how_.name,
                        why == nullptr ? "no reason given" : why),
            ""};
  }

  Libarchive library_;
  const Known& how_;
  const RandomAccess& packed_;
  archive* archive_;
  std::uint64_t offset_ = 0;
  std::uint64_t position_ = 0;
  std::uint64_t end_ = 0;
  std::optional<Error> failure_;
  std::vector<char> block_ = std::vector<char>(block_bytes);
  std::vector<char> unpacked_ = std::vector<char>(block_bytes);
  std::size_t unpacked_at_ = 0;
  std::size_t unpacked_size_ = 0;
  std::uint64_t unpacked_in_all_ = 0;
};

}  // namespace

std::optional<Compression> find_compression(std::string_view start) {
  for (const Known& it : known) {
    if (start.starts_with(it.magic)) return it.compression;
  }
  return std::nullopt;
}

std::string_view to_string(Compression compression) {
  return row(compression).name;
}

Result<std::unique_ptr<Decompressor>> Decompressor::open(Compression compression,
                                                         const RandomAccess& packed,
                                                         std::uint64_t offset) {
  HEADROOM_TRY(const Libarchive library, Libarchive::load());
  auto unpacking = std::make_unique<Unpacking>(library, row(compression), packed);
  HEADROOM_CHECK(unpacking->start(offset));
  return unpacking;
}

}  // namespace headroom::machine
