// SPDX-License-Identifier: Apache-2.0
// Bytes that can be asked for at any place: an open file, a part of one, memory. Pure readers of
// formats are written against it, so that they read a header of a file of any length and reach no
// file themselves.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/result.h"

namespace headroom {

class RandomAccess {
 public:
  virtual ~RandomAccess() = default;
  virtual std::uint64_t size() const = 0;
  // Fills the buffer from `offset` on; fewer only at the end, none behind it. Fails on I/O errors.
  virtual Result<std::size_t> read_at(std::uint64_t offset, std::span<char> buffer) const = 0;
};

// Bytes in memory, which must outlive it.
class MemoryBytes : public RandomAccess {
 public:
  explicit MemoryBytes(std::string_view bytes) : bytes_(bytes) {}
  std::uint64_t size() const override { return bytes_.size(); }
  Result<std::size_t> read_at(std::uint64_t offset, std::span<char> buffer) const override {
    if (offset >= bytes_.size()) return std::size_t{0};
    return bytes_.substr(offset).copy(buffer.data(), buffer.size());
  }

 private:
  std::string_view bytes_;
};

}  // namespace headroom
