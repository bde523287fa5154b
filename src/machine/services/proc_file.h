// SPDX-License-Identifier: Apache-2.0
// Small files of /proc and /sys of this system, many of them many times a second.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <optional>
#include <string>

#include "machine/descriptor.h"

namespace headroom::machine {

// At most 1 MiB of it; nothing where it cannot be read.
inline std::optional<std::string> read_proc_file(const std::string& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  if (file.get() < 0) return std::nullopt;
  constexpr std::size_t limit = std::size_t{1} << 20U;
  std::string text;
  std::array<char, 8192> piece;
  while (text.size() < limit) {
    const ssize_t count = ::read(file.get(), piece.data(), piece.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return std::nullopt;
    if (count == 0) break;
    text.append(piece.data(), static_cast<std::size_t>(count));
  }
  return text;
}

// What an ordinary file has from `offset` on, and at most its last 1 MiB.
inline std::string read_end_of_file(const std::string& path, std::uint64_t offset) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  const off_t end = file.get() < 0 ? -1 : ::lseek(file.get(), 0, SEEK_END);
  constexpr off_t limit = off_t{1} << 20U;
  auto from = static_cast<off_t>(offset);
  if (end <= from) return "";
  if (end - from > limit) from = end - limit;
  std::string text(static_cast<std::size_t>(end - from), '\0');
  const ssize_t count = ::pread(file.get(), text.data(), text.size(), from);
  text.resize(count < 0 ? 0 : static_cast<std::size_t>(count));
  return text;
}

}  // namespace headroom::machine
