// SPDX-License-Identifier: Apache-2.0
#include "machine/byte_source.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "machine/os_error.h"

namespace headroom::machine {

Result<FileBytes> FileBytes::of(int fd) {
  struct stat status {};
  if (::fstat(fd, &status) != 0) return os_error(errno, "looking at it");
  if (!S_ISREG(status.st_mode)) return Error{Errc::invalid, "not a regular file", ""};
  return FileBytes(fd, static_cast<std::uint64_t>(status.st_size));
}

Result<std::size_t> FileBytes::read_at(std::uint64_t offset, std::span<char> buffer) const {
  std::size_t filled = 0;
  while (filled < buffer.size() && offset + filled < size_) {
    const ssize_t count = ::pread(fd_, buffer.data() + filled, buffer.size() - filled,
                                  static_cast<off_t>(offset + filled));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return os_error(errno, "reading it");
    if (count == 0) break;
    filled += static_cast<std::size_t>(count);
  }
  return filled;
}

Section::Section(const RandomAccess& whole, std::uint64_t offset, std::uint64_t size)
    : whole_(whole),
      offset_(std::min(offset, whole.size())),
      size_(std::min(size, whole.size() - offset_)) {}

Result<std::size_t> Section::read_at(std::uint64_t offset, std::span<char> buffer) const {
  if (offset >= size_) return std::size_t{0};
  const auto count =
      static_cast<std::size_t>(std::min<std::uint64_t>(buffer.size(), size_ - offset));
  return whole_.read_at(offset_ + offset, buffer.first(count));
}

}  // namespace headroom::machine
