// SPDX-License-Identifier: Apache-2.0
// Which pages are mapped where: the bookkeeping that backends share, and the check that every call
// keeps the contract of Backend before anything is asked of the device.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "allocator/backend.h"

namespace headroom::allocator {

class PageTable {
 public:
  struct Range {
    std::uint64_t address;
    std::uint64_t bytes;
    // The number of each page that is mapped, as far as any ever was: handle + place in it.
    std::vector<PageHandle> mapped;
  };
  struct Pages {
    PageHandle handle = 0;
    std::uint32_t count = 0;
    std::uint64_t bytes() const { return count * page_bytes; }
  };

  // Fails with what is wrong with the size, or the number of pages, if anything is.
  static Status check_range(std::uint64_t bytes);
  static Status check_count(std::uint32_t count);
  void add_range(std::uint64_t address, std::uint64_t bytes);

  // The handle that the next `count` pages get: their numbers follow each other from it on, and no
  // other pages have them.
  PageHandle next_pages(std::uint32_t count) const;
  void add_pages(std::uint32_t count);
  // The pages of a handle that is mapped nowhere, and the same of one that is removed with that.
  Result<Pages> unmapped(PageHandle pages) const;
  Result<Pages> remove_pages(PageHandle pages);

  // What is mapped there now, or was.
  Result<Pages> map(std::uint64_t address, PageHandle pages);
  Result<Pages> unmap(std::uint64_t address);

  // Fails unless [address, address + bytes) is mapped pages of one range.
  Status check_mapped(std::uint64_t address, std::uint64_t bytes) const;
  // The lowest address from which pages are mapped without a gap up to `address`, in its range;
  // `address` itself where nothing is mapped below it.
  std::uint64_t mapped_from(std::uint64_t address) const;
  // The end of the mapping that `address` lies in. Requires: check_mapped() of it.
  std::uint64_t mapping_end(std::uint64_t address) const;

  std::uint64_t pages() const { return pages_; }
  std::uint64_t mapped_pages() const { return mapped_pages_; }
  const std::vector<Range>& ranges() const { return ranges_; }

 private:
  enum class PageState : std::uint8_t { absent, unmapped, mapped };
  struct Page {
    PageState state = PageState::absent;
    std::uint16_t place = 0;  // In its handle.
    std::uint16_t count = 0;  // Of the handle.
  };
  static constexpr PageHandle nothing = ~PageHandle{0};

  std::size_t range_at(std::uint64_t address) const;  // ranges_.size() where there is none.
  PageHandle page_at(std::uint64_t address) const;    // `nothing` where none is mapped.
  bool is_handle(PageHandle pages, PageState state) const;
  bool is_empty(std::uint64_t address, std::uint64_t bytes) const;
  void set_state(const Pages& pages, PageState state);
  void put(const Pages& pages, std::uint64_t address, bool mapped);

  std::vector<Range> ranges_;                   // By address.
  std::vector<Page> numbers_;                   // By number.
  std::map<PageHandle, std::uint32_t> unused_;  // Numbers below numbers_.size(), by the first.
  std::uint64_t pages_ = 0;
  std::uint64_t mapped_pages_ = 0;
};

}  // namespace headroom::allocator
