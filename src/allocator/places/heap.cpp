// SPDX-License-Identifier: Apache-2.0
#include "allocator/places/heap.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/bytes.h"
#include "base/require.h"

namespace headroom::allocator {
namespace {

// Smaller blocks fit into what others leave, wherever they lie.
constexpr std::uint64_t least_beside_younger = 2 * page_bytes;

}  // namespace

// Beside a hole or free bytes of another stream the rest is best kept: it may grow there.
bool Heap::is_younger_above(const Segment& free) const {
  if (free.prev == no_segment || free.next == no_segment) return false;
  const Segment& below = (*segments_)[free.prev];
  const Segment& above = (*segments_)[free.next];
  if (above.state != SegmentState::used) return false;
  return below.state != SegmentState::used || below.birth < above.birth;
}

SegmentId Heap::carve_beside_younger(SegmentId free, std::uint64_t bytes) {
  const Segment& whole = (*segments_)[free];
  if (bytes == whole.bytes) return carve(free, bytes);
  const bool is_above = bytes >= least_beside_younger && is_younger_above(whole);
  detach(free);
  const SegmentId upper = cut(free, is_above ? whole.end() - bytes : whole.address + bytes);
  const SegmentId block = is_above ? upper : free;
  (*segments_)[block].state = SegmentState::used;
  attach_alone(is_above ? free : upper);
  return block;
}

bool Heap::fits_on_pages(SegmentId free, std::uint64_t bytes) const {
  const Segment& segment = (*segments_)[free];
  return round_up(segment.address, page_bytes) + bytes <= segment.end();
}

SegmentId Heap::carve_on_pages(SegmentId free, std::uint64_t bytes) {
  if (!fits_on_pages(free, bytes)) return carve_beside_younger(free, bytes);
  const Segment& whole = (*segments_)[free];
  // An end at a border leaves the rest in one piece.
  const bool begins_there = whole.address % page_bytes == 0;
  const bool ends_there = whole.end() % page_bytes == 0;
  const bool is_above = begins_there != ends_there ? ends_there : is_younger_above(whole);
  const std::uint64_t begin =
      is_above ? round_down(whole.end(), page_bytes) - bytes : round_up(whole.address, page_bytes);
  detach(free);
  const SegmentId block = cut(free, begin);
  const SegmentId rest = cut(block, begin + bytes);
  (*segments_)[block].state = SegmentState::used;
  if (block != free) attach_alone(free);
  if (rest != no_segment) attach_alone(rest);
  return block;
}

// Requires: a page is mapped there.
const Heap::Page& Heap::page_at(const Segment& segment, std::uint64_t address) const {
  return pages_of_range_[segment.range][(address - ranges_[segment.range].address) / page_bytes];
}

void Heap::note_mapped(const Segment& segment, std::uint64_t address, DevicePool::Pages pages) {
  std::vector<Page>& known = pages_of_range_[segment.range];
  const std::uint64_t first = (address - ranges_[segment.range].address) / page_bytes;
  if (known.size() < first + pages.count) known.resize(first + pages.count);
  for (std::uint32_t i = 0; i < pages.count; ++i) known[first + i] = {pages, i};
}

// Requires: all of the segment is mapped.
Heap::Movable Heap::movable(const Segment& segment) const {
  std::uint64_t begin = round_up(segment.address, page_bytes);
  std::uint64_t end = round_down(segment.end(), page_bytes);
  if (begin >= end) return {};
  const Page& first = page_at(segment, begin);
  if (first.place > 0) begin = first.end(begin);
  const std::uint64_t last_at = end - page_bytes;
  const Page& last = page_at(segment, last_at);
  if (last.end(last_at) > end) end = last.begin(last_at);
  return begin < end ? Movable{begin, end} : Movable{};
}

std::uint64_t Heap::pinned_bytes(const Segment& free) const {
  const std::uint64_t begin = round_up(free.address, page_bytes);
  const std::uint64_t end = round_down(free.end(), page_bytes);
  const Movable found = movable(free);
  return begin < end ? end - begin - (found.end - found.begin) : 0;
}

std::uint64_t Heap::movable_pages(const Segment& segment) const {
  const Movable found = movable(segment);
  return (found.end - found.begin) / page_bytes;
}

std::uint64_t Heap::free_pages(StreamId stream) const {
  std::uint64_t pages = 0;
  for (const StreamIndex& index : free_) {
    if (index.stream != stream && index.stream != any_stream) continue;
    index.segments->for_each_from(
        page_bytes, [&](SegmentId id) { pages += (*segments_)[id].bytes / page_bytes; });
  }
  return pages;
}

bool Heap::reserve(std::uint64_t bytes, StreamId stream) {
  std::uint64_t wanted = std::max(next_range_bytes_, bytes);
  auto address = pages_->reserve_range(wanted);
  // Addresses are scarce on this machine, so a smaller range will do.
  while (!address && wanted > bytes) {
    wanted = std::max(round_down(wanted / 2, page_bytes), bytes);
    address = pages_->reserve_range(wanted);
  }
  if (!address) return false;
  next_range_bytes_ = wanted * 2;
  const std::uint32_t range = add_range(*address, wanted, SegmentState::hole, stream);
  if (range >= pages_of_range_.size()) pages_of_range_.resize(range + 1);
  return true;
}

SegmentId Heap::claim(const Window& window) {
  for (const SegmentId hole : window.filled) {
    detach(hole);
    (*segments_)[hole].state = SegmentState::used;
  }
  detach(window.hole);
  const SegmentId claimed = cut(window.hole, window.first_page);
  const SegmentId above = cut(claimed, window.first_page + window.last_pages * page_bytes);
  (*segments_)[claimed].state = SegmentState::used;
  if (claimed != window.hole) attach_alone(window.hole);
  if (above != no_segment) attach_alone(above);
  return claimed;
}

void Heap::give_up(const Window& window, SegmentId claimed) {
  for (const SegmentId hole : window.filled) become_hole(hole);
  become_hole(claimed);
}

void Heap::become_hole(SegmentId claimed) {
  (*segments_)[claimed].state = SegmentState::hole;
  attach(claimed);
}

Status Heap::map(const Window& window, SegmentId claimed, StreamId stream,
                 std::uint64_t per_handle) {
  Status mapped = Done{};
  for (const SegmentId hole : window.filled) {
    if (mapped)
      mapped = map_segment(hole, stream, per_handle);
    else
      become_hole(hole);
    if (mapped) release(hole);
  }
  if (mapped) return map_segment(claimed, stream, per_handle);
  become_hole(claimed);
  return mapped;
}

Status Heap::map_segment(SegmentId claimed, StreamId stream, std::uint64_t per_handle) {
  (*segments_)[claimed].stream = stream;
  const Segment segment = (*segments_)[claimed];
  Status mapped = Done{};
  std::uint64_t end = segment.address;
  while (end < segment.end()) {
    auto pages = pages_->map(end, (segment.end() - end) / page_bytes, per_handle);
    if (!pages) {
      mapped = std::move(pages).error();
      break;
    }
    note_mapped(segment, end, *pages);
    end += pages->count * page_bytes;
  }
  if (end > segment.address) {
    Status allowed =
        pages_->allow_access(segment.address, end - segment.address, ranges_[segment.range].stream);
    if (!allowed) {
      retreat(claimed, end);
      return allowed;
    }
  }
  if (mapped) return mapped;
  become_hole(cut(claimed, end));
  if (end > segment.address) release(claimed);
  return mapped;
}

// Unmaps pages that the device was not allowed to access. Those that cannot even be unmapped are
// lost: they stay a used segment that belongs to no block.
void Heap::retreat(SegmentId claimed, std::uint64_t end) {
  const Segment segment = (*segments_)[claimed];
  while (end > segment.address) {
    const Page& last = page_at(segment, end - page_bytes);
    const std::uint64_t begin = last.begin(end - page_bytes);
    if (!pages_->unmap(begin, last.pages)) break;
    end = begin;
  }
  pages_->lose((end - segment.address) / page_bytes);
  if (end > segment.address)
    pages_->note(FlightKind::map, segment.address, end - segment.address,
                 ranges_[segment.range].stream);
  const SegmentId rest = cut(claimed, end);
  if (rest != no_segment) become_hole(rest);
}

SegmentId Heap::occupy(const Window& window, SegmentId claimed) {
  const std::uint64_t end = window.address + window.bytes;
  SegmentId block = claimed;
  require((*segments_)[claimed].state == SegmentState::used, "the window's pages were mapped");
  if (window.address < window.first_page) {
    const SegmentId below = (*segments_)[claimed].prev;
    detach(below);
    block = cut(below, window.address);
    (*segments_)[block].state = SegmentState::used;
    if (block != below) attach_alone(below);
    absorb_next(block);
  } else if (window.address > window.first_page) {
    block = cut(claimed, window.address);
    release(claimed);
  }
  if ((*segments_)[block].end() < end) {
    const SegmentId above = (*segments_)[block].next;
    detach(above);
    const SegmentId rest = cut(above, end);
    if (rest != no_segment) attach_alone(rest);
    absorb_next(block);
  } else if (const SegmentId rest = cut(block, end); rest != no_segment) {
    release(rest);
  }
  return block;
}

std::uint64_t Heap::unmap_pages(SegmentId free, std::uint64_t count) {
  const Segment before = (*segments_)[free];
  const Movable range = movable(before);
  std::uint64_t begin = range.end;
  while (begin > range.begin && (range.end - begin) / page_bytes < count) {
    const Page& last = page_at(before, begin - page_bytes);
    const std::uint64_t at = last.begin(begin - page_bytes);
    if (!pages_->unmap(at, last.pages)) break;
    begin = at;
  }
  if (begin == range.end) return 0;
  pages_->note(FlightKind::unmap, begin, range.end - begin, ranges_[before.range].stream);
  detach(free);
  const SegmentId hole = cut(free, begin);
  const SegmentId above = cut(hole, range.end);
  (*segments_)[hole].state = SegmentState::hole;
  if (hole != free) attach_alone(free);
  if (above != no_segment) attach_alone(above);
  attach(hole);
  return (range.end - begin) / page_bytes;
}

void Heap::unmap_all() {
  for (const Range& range : ranges_) {
    std::uint64_t mapped_to = range.address;  // Pages below this one have been looked at.
    for (SegmentId id = range.first; id != no_segment; id = (*segments_)[id].next) {
      const Segment segment = (*segments_)[id];
      if (segment.state == SegmentState::hole) continue;
      std::uint64_t at = std::max(mapped_to, round_down(segment.address, page_bytes));
      while (at < segment.end()) {
        const Page& page = page_at(segment, at);  // The first page of its handle.
        static_cast<void>(pages_->unmap(at, page.pages));
        at = page.end(at);
      }
      mapped_to = at;
    }
  }
}

}  // namespace headroom::allocator
