// SPDX-License-Identifier: Apache-2.0
// Which plain allocations exist: the bookkeeping that backends share, and the check that release()
// gets an address that allocate() gave.
#pragma once

#include <cstdint>
#include <map>

#include "base/result.h"

namespace headroom::allocator {

class PlainTable {
 public:
  // Fails and says what is wrong if the size is not allowed.
  static Status check_size(std::uint64_t bytes);

  void add(std::uint64_t address, std::uint64_t bytes);
  // Return the size of the allocation at `address`, and fail if there is none.
  Result<std::uint64_t> size_of(std::uint64_t address) const;
  Result<std::uint64_t> remove(std::uint64_t address);

  std::uint64_t bytes() const { return bytes_; }
  const std::map<std::uint64_t, std::uint64_t>& sizes() const { return sizes_; }  // Address → size.

 private:
  std::map<std::uint64_t, std::uint64_t> sizes_;
  std::uint64_t bytes_ = 0;
};

}  // namespace headroom::allocator
