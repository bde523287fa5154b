// SPDX-License-Identifier: Apache-2.0
#include "machine/cpio.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "base/printable.h"
#include "base/text.h"

namespace headroom::machine {
namespace {

constexpr std::size_t magic_bytes = 6;
constexpr std::size_t header_bytes = 110;  // The magic and thirteen numbers of eight hex digits.
constexpr std::uint64_t path_max = 4096;   // The kernel's PATH_MAX, for names and for links.
constexpr std::string_view trailer = "TRAILER!!!";

Error not_cpio(const std::string& found) {
  return {Errc::invalid, "expected a cpio archive as the kernel unpacks it, found " + found, ""};
}

Error cut_short() {
  return not_cpio("one that is cut short");
}

// A field of the header is eight digits and nothing else.
std::optional<std::uint32_t> parse_field(std::string_view digits) {
  std::uint32_t value = 0;
  for (const char digit : digits) {
    const auto number = parse_hex(std::string_view(&digit, 1));
    if (!number) return std::nullopt;
    value = value << 4U | static_cast<std::uint32_t>(*number);
  }
  return value;
}

// Header with name, and body, each begin at a multiple of four.
std::uint64_t padding_after(std::uint64_t length) {
  return (4 - length % 4) % 4;
}

std::string plain_name(std::string_view name) {
  std::vector<std::string> parts;
  for (const std::string_view part : split(name, '/')) {
    if (!part.empty() && part != ".") parts.emplace_back(part);
  }
  return join(parts, "/");
}

}  // namespace

struct CpioReader::Header {
  std::uint32_t inode = 0;
  std::uint32_t mode = 0;
  std::uint32_t links = 0;
  std::uint32_t size = 0;
  std::uint32_t device_major = 0;
  std::uint32_t device_minor = 0;
  std::uint32_t name_size = 0;
};

Status CpioReader::read_exactly(char* to, std::size_t count) {
  if (count == 0) return Done{};
  HEADROOM_TRY(const std::size_t got, stream_.read({to, count}));
  if (got != count) return cut_short();
  return Done{};
}

Status CpioReader::skip_exactly(std::uint64_t count) {
  if (count == 0) return Done{};
  HEADROOM_TRY(const std::uint64_t passed, stream_.skip(count));
  if (passed != count) return cut_short();
  return Done{};
}

// newc: magic, ino, mode, uid, gid, nlink, mtime, filesize, devmajor, devminor, rdevmajor,
// rdevminor, namesize, check.
Result<CpioReader::Header> CpioReader::read_header(std::string_view start) {
  std::array<char, header_bytes> text{};
  const std::size_t have = start.copy(text.data(), magic_bytes);
  HEADROOM_CHECK(read_exactly(text.data() + have, magic_bytes - have));
  const std::string_view magic(text.data(), magic_bytes);
  if (magic == "070707") {
    return not_cpio("the old portable format, which the kernel refuses (cpio -H newc is right)");
  }
  if (magic != "070701" && magic != "070702") {
    return not_cpio("'" + printable(magic) + "' where a header begins");
  }
  HEADROOM_CHECK(read_exactly(text.data() + magic_bytes, header_bytes - magic_bytes));
  std::array<std::uint32_t, 13> fields{};
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const std::string_view digits(text.data() + magic_bytes + i * 8, 8);
    const auto value = parse_field(digits);
    if (!value) return not_cpio("'" + printable(digits) + "' for a number of a header");
    fields[i] = *value;
  }
  return Header{fields[0], fields[1], fields[4], fields[6], fields[7], fields[8], fields[11]};
}

// A name may be followed by more than one zero byte: dracut's --enhanced-cpio aligns bodies so.
Result<std::string> CpioReader::read_name(std::uint64_t length) {
  if (length == 0 || length > path_max) {
    return not_cpio(fmt::format("a name of {} bytes, where 1 to {} can be", length, path_max));
  }
  std::string name(length, '\0');
  HEADROOM_CHECK(read_exactly(name.data(), name.size()));
  HEADROOM_CHECK(skip_exactly(padding_after(header_bytes + length)));
  if (name.back() != '\0') return not_cpio("a name without its end");
  name.resize(name.find('\0'));
  return name;
}

Result<std::string> CpioReader::read_body(const CpioEntry& entry) {
  std::string bytes;
  if (entry.is_link() && entry.size > path_max) {
    return not_cpio(fmt::format("a link to {} bytes of name", entry.size));
  }
  const bool wanted = entry.is_link() || (entry.is_file() && visitor_.wants(entry));
  if (wanted && entry.size > left_.wanted_bytes) {
    return not_cpio(fmt::format("{} with {} bytes, where at most {} are read",
                                printable(entry.name), entry.size, left_.wanted_bytes));
  }
  if (wanted) {
    bytes.resize(entry.size);
    HEADROOM_CHECK(read_exactly(bytes.data(), bytes.size()));
  } else {
    HEADROOM_CHECK(skip_exactly(entry.size));
  }
  HEADROOM_CHECK(skip_exactly(padding_after(entry.size)));
  // GNU cpio ends a link's text without a zero byte, others with one.
  if (entry.is_link()) bytes.resize(std::min(bytes.find('\0'), bytes.size()));
  return bytes;
}

Status CpioReader::read_archive(std::string_view start) {
  for (std::string_view read_already = start;; read_already = {}) {
    HEADROOM_TRY(const Header header, read_header(read_already));
    HEADROOM_TRY(const std::string name, read_name(header.name_size));
    if (name == trailer) {
      HEADROOM_CHECK(skip_exactly(header.size));
      visitor_.archive_ends();
      return Done{};
    }
    if (left_.entries == 0) return not_cpio("more entries than any system has");
    --left_.entries;
    CpioEntry entry;
    entry.name = plain_name(name);
    entry.mode = header.mode;
    entry.links = header.links;
    entry.size = header.size;
    entry.file_id = fmt::format("{}:{}:{}", header.device_major, header.device_minor, header.inode);
    HEADROOM_TRY(std::string bytes, read_body(entry));
    HEADROOM_CHECK(visitor_.visit(entry, std::move(bytes)));
  }
}

}  // namespace headroom::machine
