// SPDX-License-Identifier: Apache-2.0
#include "allocator/page_table.h"

#include <fmt/format.h>

#include <algorithm>

namespace headroom::allocator {
namespace {

bool address_is_below(std::uint64_t address, const PageTable::Range& range) {
  return address < range.address;
}

}  // namespace

Status PageTable::check_range(std::uint64_t bytes) {
  if (bytes != 0 && bytes % page_bytes == 0) return Done{};
  return Error{Errc::invalid,
               fmt::format("expected a range of whole 2 MiB pages, found {} bytes", bytes), ""};
}

void PageTable::add_range(std::uint64_t address, std::uint64_t bytes) {
  ranges_.insert(std::upper_bound(ranges_.begin(), ranges_.end(), address, address_is_below),
                 Range{address, bytes, {}});
}

PageHandle PageTable::next_page() const {
  return removed_.empty() ? static_cast<PageHandle>(states_.size()) : removed_.back();
}

void PageTable::add_page() {
  if (removed_.empty()) {
    states_.push_back(PageState::unmapped);
    return;
  }
  states_[removed_.back()] = PageState::unmapped;
  removed_.pop_back();
}

Status PageTable::remove_page(PageHandle page) {
  if (page >= states_.size() || states_[page] != PageState::unmapped)
    return Error{Errc::invalid, fmt::format("page {} is mapped or does not exist", page), ""};
  states_[page] = PageState::absent;
  removed_.push_back(page);
  return Done{};
}

PageHandle* PageTable::place_of(std::uint64_t address) {
  auto range = std::upper_bound(ranges_.begin(), ranges_.end(), address, address_is_below);
  if (range == ranges_.begin()) return nullptr;
  --range;
  if (address % page_bytes != 0 || address >= range->address + range->bytes) return nullptr;
  const std::uint64_t page = (address - range->address) / page_bytes;
  if (page >= range->mapped.size()) range->mapped.resize(page + 1, nothing);
  return &range->mapped[page];
}

Status PageTable::map(std::uint64_t address, PageHandle page) {
  PageHandle* place = place_of(address);
  if (place == nullptr || *place != nothing)
    return Error{Errc::invalid, fmt::format("{:#x} is not an empty page of a range", address), ""};
  if (page >= states_.size() || states_[page] != PageState::unmapped)
    return Error{Errc::invalid, fmt::format("page {} is mapped or does not exist", page), ""};
  *place = page;
  states_[page] = PageState::mapped;
  ++mapped_pages_;
  return Done{};
}

Status PageTable::check_mapped(std::uint64_t address, std::uint64_t bytes) {
  HEADROOM_CHECK(check_range(bytes));
  for (std::uint64_t done = 0; done < bytes; done += page_bytes) {
    const PageHandle* place = place_of(address + done);
    if (place == nullptr || *place == nothing)
      return Error{Errc::invalid, fmt::format("nothing is mapped at {:#x}", address + done), ""};
  }
  return Done{};
}

std::uint64_t PageTable::mapped_from(std::uint64_t address) {
  auto range = std::upper_bound(ranges_.begin(), ranges_.end(), address, address_is_below);
  if (range == ranges_.begin()) return address;
  --range;
  while (address > range->address) {
    const std::uint64_t page = (address - range->address) / page_bytes - 1;
    if (page >= range->mapped.size() || range->mapped[page] == nothing) break;
    address -= page_bytes;
  }
  return address;
}

Result<PageHandle> PageTable::unmap(std::uint64_t address) {
  PageHandle* place = place_of(address);
  if (place == nullptr || *place == nothing)
    return Error{Errc::invalid, fmt::format("nothing is mapped at {:#x}", address), ""};
  const PageHandle page = *place;
  states_[page] = PageState::unmapped;
  *place = nothing;
  --mapped_pages_;
  return page;
}

}  // namespace headroom::allocator
