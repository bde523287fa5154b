// SPDX-License-Identifier: Apache-2.0
#include "allocator/page_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/require.h"

namespace headroom::allocator {
namespace {

bool address_is_below(std::uint64_t address, const PageTable::Range& range) {
  return address < range.address;
}

Error no_handle(PageHandle pages) {
  return {Errc::invalid,
          fmt::format("there is no handle {}, or its pages are mapped already", pages), ""};
}

Error nothing_mapped(std::uint64_t address) {
  return {Errc::invalid, fmt::format("nothing is mapped at {:#x}", address), ""};
}

}  // namespace

Status PageTable::check_range(std::uint64_t bytes) {
  if (bytes != 0 && bytes % page_bytes == 0) return Done{};
  return Error{Errc::invalid,
               fmt::format("expected a range of whole 2 MiB pages, found {} bytes", bytes), ""};
}

Status PageTable::check_count(std::uint32_t count) {
  if (count != 0 && count <= max_pages_per_handle) return Done{};
  return Error{
      Errc::invalid,
      fmt::format("expected 1 to {} pages for a handle, found {}", max_pages_per_handle, count),
      ""};
}

void PageTable::add_range(std::uint64_t address, std::uint64_t bytes) {
  ranges_.insert(std::upper_bound(ranges_.begin(), ranges_.end(), address, address_is_below),
                 Range{address, bytes, {}});
}

PageHandle PageTable::next_pages(std::uint32_t count) const {
  const auto fits = std::find_if(unused_.begin(), unused_.end(),
                                 [count](const auto& run) { return run.second >= count; });
  return fits == unused_.end() ? static_cast<PageHandle>(numbers_.size()) : fits->first;
}

void PageTable::add_pages(std::uint32_t count) {
  const PageHandle handle = next_pages(count);
  const auto reused = unused_.find(handle);
  if (reused != unused_.end()) {
    const std::uint32_t left = reused->second - count;
    unused_.erase(reused);
    if (left > 0) unused_[handle + count] = left;
  } else {
    numbers_.resize(numbers_.size() + count);
  }
  for (std::uint32_t i = 0; i < count; ++i)
    numbers_[handle + i] = {PageState::unmapped, static_cast<std::uint16_t>(i),
                            static_cast<std::uint16_t>(count)};
  pages_ += count;
}

bool PageTable::is_handle(PageHandle pages, PageState state) const {
  return pages < numbers_.size() && numbers_[pages].state == state && numbers_[pages].place == 0;
}

void PageTable::set_state(const Pages& pages, PageState state) {
  for (std::uint32_t i = 0; i < pages.count; ++i) numbers_[pages.handle + i].state = state;
}

Result<PageTable::Pages> PageTable::unmapped(PageHandle pages) const {
  if (!is_handle(pages, PageState::unmapped)) return no_handle(pages);
  return Pages{pages, numbers_[pages].count};
}

Result<PageTable::Pages> PageTable::remove_pages(PageHandle pages) {
  HEADROOM_TRY(const Pages removed, unmapped(pages));
  set_state(removed, PageState::absent);
  pages_ -= removed.count;
  auto run = unused_.emplace(pages, removed.count).first;
  const auto after = std::next(run);
  if (after != unused_.end() && run->first + run->second == after->first) {
    run->second += after->second;
    unused_.erase(after);
  }
  if (run != unused_.begin()) {
    const auto before = std::prev(run);
    if (before->first + before->second == run->first) {
      before->second += run->second;
      unused_.erase(run);
    }
  }
  return removed;
}

std::size_t PageTable::range_at(std::uint64_t address) const {
  const auto above = std::upper_bound(ranges_.begin(), ranges_.end(), address, address_is_below);
  if (above == ranges_.begin()) return ranges_.size();
  const auto range = std::prev(above);
  if (address >= range->address + range->bytes) return ranges_.size();
  return static_cast<std::size_t>(range - ranges_.begin());
}

PageHandle PageTable::page_at(std::uint64_t address) const {
  const std::size_t index = range_at(address);
  if (index == ranges_.size()) return nothing;
  const Range& range = ranges_[index];
  const std::uint64_t page = (address - range.address) / page_bytes;
  return page < range.mapped.size() ? range.mapped[page] : nothing;
}

bool PageTable::is_empty(std::uint64_t address, std::uint64_t bytes) const {
  const std::size_t index = range_at(address);
  if (index == ranges_.size() || address % page_bytes != 0) return false;
  if (ranges_[index].address + ranges_[index].bytes - address < bytes) return false;
  for (std::uint64_t at = 0; at < bytes; at += page_bytes)
    if (page_at(address + at) != nothing) return false;
  return true;
}

void PageTable::put(const Pages& pages, std::uint64_t address, bool mapped) {
  Range& range = ranges_[range_at(address)];
  const std::uint64_t first = (address - range.address) / page_bytes;
  if (range.mapped.size() < first + pages.count) range.mapped.resize(first + pages.count, nothing);
  for (std::uint32_t i = 0; i < pages.count; ++i)
    range.mapped[first + i] = mapped ? pages.handle + i : nothing;
}

Result<PageTable::Pages> PageTable::map(std::uint64_t address, PageHandle pages) {
  if (!is_handle(pages, PageState::unmapped)) return no_handle(pages);
  const Pages mapped{pages, numbers_[pages].count};
  if (!is_empty(address, mapped.bytes()))
    return Error{
        Errc::invalid,
        fmt::format("{:#x} is not the first of {} empty pages of a range", address, mapped.count),
        ""};
  set_state(mapped, PageState::mapped);
  put(mapped, address, true);
  mapped_pages_ += mapped.count;
  return mapped;
}

Result<PageTable::Pages> PageTable::unmap(std::uint64_t address) {
  const PageHandle page = page_at(address);
  if (page == nothing || address % page_bytes != 0 || numbers_[page].place != 0)
    return nothing_mapped(address);
  const Pages unmapped{page, numbers_[page].count};
  set_state(unmapped, PageState::unmapped);
  put(unmapped, address, false);
  mapped_pages_ -= unmapped.count;
  return unmapped;
}

Status PageTable::check_mapped(std::uint64_t address, std::uint64_t bytes) const {
  HEADROOM_CHECK(check_range(bytes));
  const std::size_t index = range_at(address);
  if (index == ranges_.size() || address % page_bytes != 0) return nothing_mapped(address);
  const std::uint64_t end = ranges_[index].address + ranges_[index].bytes;
  for (std::uint64_t at = address; at - address < bytes; at += page_bytes)
    if (at >= end || page_at(at) == nothing) return nothing_mapped(at);
  return Done{};
}

std::uint64_t PageTable::mapped_from(std::uint64_t address) const {
  const std::size_t index = range_at(address);
  if (index == ranges_.size()) return address;
  while (address > ranges_[index].address && page_at(address - page_bytes) != nothing)
    address -= page_bytes;
  return address;
}

std::uint64_t PageTable::mapping_end(std::uint64_t address) const {
  const PageHandle number = page_at(address);
  require(number != nothing, "the address whose mapping's end is wanted is mapped");
  const Page& page = numbers_[number];
  return address + (page.count - page.place) * page_bytes;
}

}  // namespace headroom::allocator
