// SPDX-License-Identifier: Apache-2.0
// Bytes from wherever they are: at any place (a file, a section of one), or in order (what a
// decompressor yields). What reads formats is written against these two and reaches no file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/random_access.h"
#include "base/result.h"

namespace headroom::machine {

class ByteStream {
 public:
  virtual ~ByteStream() = default;
  // Fills the buffer; fewer only at the end. Fails on I/O errors and on what cannot be unpacked.
  virtual Result<std::size_t> read(std::span<char> buffer) = 0;
  // Passes over `count` bytes and returns how many there were; fewer only at the end.
  virtual Result<std::uint64_t> skip(std::uint64_t count) = 0;
};

// An open file, which stays its owner's.
class FileBytes : public RandomAccess {
 public:
  // Fails with invalid on what is no regular file.
  static Result<FileBytes> of(int fd);
  std::uint64_t size() const override { return size_; }
  Result<std::size_t> read_at(std::uint64_t offset, std::span<char> buffer) const override;

 private:
  FileBytes(int fd, std::uint64_t size) : fd_(fd), size_(size) {}
  int fd_;
  std::uint64_t size_;
};

// A part of other bytes, which must outlive it. What the part promises beyond their end is not
// there.
class Section : public RandomAccess {
 public:
  Section(const RandomAccess& whole, std::uint64_t offset, std::uint64_t size);
  std::uint64_t size() const override { return size_; }
  Result<std::size_t> read_at(std::uint64_t offset, std::span<char> buffer) const override;

 private:
  const RandomAccess& whole_;
  std::uint64_t offset_;
  std::uint64_t size_;
};

}  // namespace headroom::machine
