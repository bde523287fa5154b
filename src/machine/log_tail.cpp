// SPDX-License-Identifier: Apache-2.0
#include "machine/log_tail.h"

#include <fmt/format.h>

#include <array>
#include <vector>

#include "machine/byte_source.h"
#include "machine/decompressor.h"

namespace headroom::machine {
namespace {

constexpr std::uint64_t packed_bytes_max = std::uint64_t{16} << 20U;
constexpr std::uint64_t unpacked_bytes_max = std::uint64_t{128} << 20U;

Error too_long(std::string_view path, std::uint64_t limit) {
  return {Errc::invalid,
          fmt::format("reading {}: expected a log of at most {} MiB, found a longer one", path,
                      limit >> 20U),
          ""};
}

Result<std::optional<Compression>> compression_of(const FileBytes& bytes) {
  std::array<char, 8> start{};
  HEADROOM_TRY(const std::size_t length, bytes.read_at(0, start));
  return find_compression({start.data(), length});
}

// Reads to the end, because a packed file can be read from its start alone.
Result<std::string> unpack_tail(ByteStream& stream, std::string_view path, std::size_t most) {
  std::string kept;
  std::vector<char> chunk(std::size_t{64} << 10U);
  std::uint64_t total = 0;
  for (;;) {
    HEADROOM_TRY(const std::size_t count, stream.read(chunk));
    if (count == 0) break;
    total += count;
    if (total > unpacked_bytes_max) return too_long(path, unpacked_bytes_max);
    kept.append(chunk.data(), count);
    if (kept.size() > 2 * most + chunk.size()) kept.erase(0, kept.size() - most - 1);
  }
  if (total <= most) return kept;
  // One byte more than wanted tells whether the first line is whole.
  const std::size_t end = kept.find('\n', kept.size() - most - 1);
  return end == std::string::npos ? std::string() : kept.substr(end + 1);
}

}  // namespace

Result<std::string> read_log_tail(const Files& files, std::string_view path, std::size_t most) {
  HEADROOM_TRY(const Descriptor file, files.open_file(path));
  HEADROOM_TRY(const FileBytes bytes, FileBytes::of(file.get()));
  HEADROOM_TRY(const auto compression, compression_of(bytes));
  if (!compression) return files.read_tail(path, most);
  if (bytes.size() > packed_bytes_max) return too_long(path, packed_bytes_max);
  HEADROOM_TRY(const auto stream, Decompressor::open(*compression, bytes, 0));
  return unpack_tail(*stream, path, most);
}

}  // namespace headroom::machine
