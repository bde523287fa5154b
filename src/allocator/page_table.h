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
    // The number of the page that is mapped at each place (its handle plus its index in the
    // handle), up to the last place that was ever mapped.
    std::vector<PageHandle> mapped;
  };
  struct Pages {
    PageHandle handle = 0;
    std::uint32_t count = 0;
    std::uint64_t bytes() const { return count * page_bytes; }
  };

  // Fail and say what is wrong if the size, or the number of pages, is not allowed.
  static Status check_range(std::uint64_t bytes);
  static Status check_count(std::uint32_t count);
  void add_range(std::uint64_t address, std::uint64_t bytes);

  // The handle that the next `count` pages will get. Their numbers count up from it, and no other
  // pages have these numbers.
  PageHandle next_pages(std::uint32_t count) const;
  void add_pages(std::uint32_t count);
  // The pages of a handle; both fail if it is unknown or mapped. remove_pages() also forgets the
  // handle.
  Result<Pages> unmapped(PageHandle pages) const;
  Result<Pages> remove_pages(PageHandle pages);

  // Return the pages that are now mapped there, or that were mapped there until now.
  Result<Pages> map(std::uint64_t address, PageHandle pages);
  Result<Pages> unmap(std::uint64_t address);

  // Fails unless [address, address + bytes) is mapped pages of one range.
  Status check_mapped(std::uint64_t address, std::uint64_t bytes) const;
  // The lowest address from which pages are mapped without a gap up to `address`, in its range;
  // `address` itself if nothing is mapped directly below it.
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
    std::uint16_t place = 0;  // Its index in its handle.
    std::uint16_t count = 0;  // The pages of its handle.
  };
  static constexpr PageHandle nothing = ~PageHandle{0};

  std::size_t range_at(std::uint64_t address) const;  // ranges_.size() if there is none.
  PageHandle page_at(std::uint64_t address) const;    // `nothing` if no page is mapped there.
  bool is_handle(PageHandle pages, PageState state) const;
  bool is_empty(std::uint64_t address, std::uint64_t bytes) const;
  void set_state(const Pages& pages, PageState state);
  void put(const Pages& pages, std::uint64_t address, bool mapped);

  std::vector<Range> ranges_;  // Sorted by address.
  std::vector<Page> numbers_;  // Indexed by page number.
  // Runs of free numbers below numbers_.size(): first number → how many.
  std::map<PageHandle, std::uint32_t> unused_;
  std::uint64_t pages_ = 0;
  std::uint64_t mapped_pages_ = 0;
};

}  // namespace headroom::allocator
