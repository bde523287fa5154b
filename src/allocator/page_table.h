// SPDX-License-Identifier: Apache-2.0
// Which page is mapped where: the bookkeeping that backends share, and the check that every call
// keeps the contract of Backend before anything is asked of the device.
#pragma once

#include <cstdint>
#include <vector>

#include "allocator/backend.h"

namespace headroom::allocator {

class PageTable {
 public:
  struct Range {
    std::uint64_t address;
    std::uint64_t bytes;
    std::vector<PageHandle> mapped;  // By page, as far as any was ever mapped.
  };

  // Fails with what is wrong with the size, if anything is.
  static Status check_range(std::uint64_t bytes);
  void add_range(std::uint64_t address, std::uint64_t bytes);

  // The handle that the next page gets, which is a number as small as possible.
  PageHandle next_page() const;
  void add_page();
  Status remove_page(PageHandle page);

  Status map(std::uint64_t address, PageHandle page);
  // What was mapped there.
  Result<PageHandle> unmap(std::uint64_t address);

  // Fails unless [address, address + bytes) is mapped pages of one range.
  Status check_mapped(std::uint64_t address, std::uint64_t bytes);
  // The lowest address from which pages are mapped without a gap up to `address`, in its range;
  // `address` itself where nothing is mapped below it.
  std::uint64_t mapped_from(std::uint64_t address);

  std::uint64_t pages() const { return states_.size() - removed_.size(); }
  std::uint64_t mapped_pages() const { return mapped_pages_; }
  const std::vector<Range>& ranges() const { return ranges_; }

 private:
  enum class PageState : std::uint8_t { absent, unmapped, mapped };
  static constexpr PageHandle nothing = ~PageHandle{0};

  PageHandle* place_of(std::uint64_t address);  // Null if it is not a page of any range.

  std::vector<Range> ranges_;  // By address.
  std::vector<PageState> states_;
  std::vector<PageHandle> removed_;
  std::uint64_t mapped_pages_ = 0;
};

}  // namespace headroom::allocator
