// SPDX-License-Identifier: Apache-2.0
#include "machine/uki.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace headroom::machine {
namespace {

constexpr std::size_t dos_header_bytes = 64;
constexpr std::size_t pe_at = 0x3c;  // In the DOS header: where "PE" is.
constexpr std::size_t coff_header_bytes = 24;
constexpr std::size_t section_header_bytes = 40;

Error bad(const char* found) {
  return {Errc::invalid,
          std::string("expected an initramfs image or a unified kernel image, found ") + found, ""};
}

// Two or four bytes, the lowest first.
std::uint32_t number(std::span<const char> bytes, std::size_t at, std::size_t length) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < length; ++i) {
    value |= static_cast<std::uint32_t>(static_cast<unsigned char>(bytes[at + i])) << (8 * i);
  }
  return value;
}

}  // namespace

Result<std::optional<FilePart>> find_uki_initrd(const RandomAccess& bytes) {
  std::array<char, dos_header_bytes> dos{};
  HEADROOM_TRY(const std::size_t got, bytes.read_at(0, dos));
  if (got < dos.size() || dos[0] != 'M' || dos[1] != 'Z') return std::optional<FilePart>();
  const std::uint64_t pe = number(dos, pe_at, 4);
  std::array<char, coff_header_bytes> coff{};
  HEADROOM_TRY(const std::size_t coff_got, bytes.read_at(pe, coff));
  if (coff_got < coff.size() || std::string_view(coff.data(), 4) != std::string_view("PE\0\0", 4)) {
    return bad("a program that is neither");
  }
  const std::uint32_t sections = number(coff, 6, 2);
  std::uint64_t at = pe + coff_header_bytes + number(coff, 20, 2);
  for (std::uint32_t i = 0; i < sections; ++i, at += section_header_bytes) {
    std::array<char, section_header_bytes> header{};
    HEADROOM_TRY(const std::size_t header_got, bytes.read_at(at, header));
    if (header_got < header.size()) return bad("one whose headers are cut short");
    if (std::string_view(header.data(), 8) != std::string_view(".initrd\0", 8)) continue;
    // Its real length, and the length that it fills in the file, which is padded.
    const std::uint32_t length = number(header, 8, 4);
    const std::uint32_t in_file = number(header, 16, 4);
    const FilePart part{number(header, 20, 4), std::min(length, in_file)};
    if (part.offset + part.size > bytes.size()) return bad("one that is cut short");
    return std::optional(part);
  }
  return bad("a UEFI program without the section .initrd");
}

}  // namespace headroom::machine
