// SPDX-License-Identifier: Apache-2.0
#include "allocator/places/heap.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "base/bytes.h"
#include "base/require.h"

namespace headroom::allocator {
namespace {

constexpr std::uint64_t pages_for(std::uint64_t bytes) {
  return (bytes + page_bytes - 1) / page_bytes;
}

}  // namespace

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

// Looks at holes one by one and keeps the best window.
class Heap::WindowSearch {
 public:
  WindowSearch(const Heap& heap, std::uint64_t bytes, StreamId stream, Supply supply)
      : heap_(heap), bytes_(bytes), stream_(stream), supply_(supply) {}

  // Tries three ways to use a hole: upwards from the free bytes below it, downwards from those
  // above it, and the whole hole between the two.
  void look_at(SegmentId id) {
    const Segment& hole = (*heap_.segments_)[id];
    const Beside below = beside(hole.prev);
    const Beside above = beside(hole.next);
    const std::uint64_t up = pages_for(bytes_ - std::min(bytes_, below.bytes));
    if (up > 0 && up * page_bytes <= hole.bytes)
      consider({hole.address - below.bytes, bytes_, id, hole.address, up}, below.pages);
    const std::uint64_t down = pages_for(bytes_ - std::min(bytes_, above.bytes));
    if (above.bytes > 0 && down > 0 && down * page_bytes <= hole.bytes)
      consider(
          {hole.end() + above.bytes - bytes_, bytes_, id, hole.end() - down * page_bytes, down},
          above.pages);
    const bool all_of_it =
        below.bytes + hole.bytes < bytes_ && below.bytes + hole.bytes + above.bytes >= bytes_;
    if (all_of_it)
      consider({hole.address - below.bytes, bytes_, id, hole.address, hole.bytes / page_bytes},
               below.pages + above.pages);
  }

  const std::optional<Window>& best() const { return best_; }

 private:
  struct Beside {
    std::uint64_t bytes = 0;
    std::uint64_t pages = 0;  // How many of them are movable.
  };

  Beside beside(SegmentId id) const {
    if (id == no_segment || !heap_.usable((*heap_.segments_)[id], stream_)) return {};
    const Segment& segment = (*heap_.segments_)[id];
    return {segment.bytes, heap_.movable_pages(segment)};
  }

  void consider(const Window& window, std::uint64_t covered_pages) {
    const std::uint64_t movable = supply_.movable - std::min(supply_.movable, covered_pages);
    if (window.pages > supply_.spare + movable) return;
    const auto order = [this](const Window& each) {
      return std::tuple(each.pages, (*heap_.segments_)[each.hole].bytes, each.address);
    };
    if (!best_ || order(window) < order(*best_)) best_ = window;
  }

  const Heap& heap_;
  std::uint64_t bytes_;
  StreamId stream_;
  Supply supply_;
  std::optional<Window> best_;
};

std::optional<Window> Heap::find_window(std::uint64_t bytes, StreamId stream, Supply supply) {
  const auto search = [&] {
    WindowSearch windows(*this, bytes, stream, supply);
    holes_.for_each_from(0, [&](SegmentId id) { windows.look_at(id); });
    return windows.best();
  };
  std::optional<Window> best = search();
  const bool only_addresses_lack = !best && pages_for(bytes) <= supply.spare + supply.movable;
  if (only_addresses_lack && reserve(pages_for(bytes) * page_bytes, stream)) best = search();
  return best;
}

void Heap::widen(Window& window, std::uint64_t multiple) const {
  const Segment& hole = (*segments_)[window.hole];
  const std::uint64_t room = (hole.end() - window.first_page) / page_bytes;
  const std::uint64_t wanted = (window.pages + multiple - 1) / multiple * multiple;
  if (wanted <= room) window.pages = wanted;
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
  detach(window.hole);
  const SegmentId claimed = cut(window.hole, window.first_page);
  const SegmentId above = cut(claimed, window.first_page + window.pages * page_bytes);
  (*segments_)[claimed].state = SegmentState::used;
  if (claimed != window.hole) attach_alone(window.hole);
  if (above != no_segment) attach_alone(above);
  return claimed;
}

void Heap::give_up(SegmentId claimed) {
  (*segments_)[claimed].state = SegmentState::hole;
  attach(claimed);
}

Status Heap::map(SegmentId claimed, StreamId stream, std::uint64_t at_once) {
  (*segments_)[claimed].stream = stream;
  const Segment segment = (*segments_)[claimed];
  Status mapped = Done{};
  std::uint64_t end = segment.address;
  while (end < segment.end()) {
    auto pages = pages_->map(end, (segment.end() - end) / page_bytes, at_once);
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
  give_up(cut(claimed, end));
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
  if (rest != no_segment) give_up(rest);
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
