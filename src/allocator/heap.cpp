// SPDX-License-Identifier: Apache-2.0
#include "allocator/heap.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "base/bytes.h"

namespace headroom::allocator {
namespace {

constexpr std::uint64_t pages_for(std::uint64_t bytes) {
  return (bytes + page_bytes - 1) / page_bytes;
}

}  // namespace

PageHandle& Heap::page_at(const Segment& segment, std::uint64_t address) {
  std::vector<PageHandle>& pages = pages_of_range_[segment.range];
  const std::uint64_t page = (address - ranges_[segment.range].address) / page_bytes;
  if (page >= pages.size()) pages.resize(page + 1);
  return pages[page];
}

std::uint64_t Heap::whole_pages(const Segment& segment) {
  const std::uint64_t first = round_up(segment.address, page_bytes);
  const std::uint64_t last = round_down(segment.end(), page_bytes);
  return last > first ? (last - first) / page_bytes : 0;
}

// Looks at holes one by one and keeps the best window.
class Heap::WindowSearch {
 public:
  WindowSearch(const Heap& heap, std::uint64_t bytes, StreamId stream, Supply supply)
      : heap_(heap), bytes_(bytes), stream_(stream), supply_(supply) {}

  // Three ways to use a hole: upwards from the free bytes below it, downwards from those above it,
  // and all of it between the two.
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
    std::uint64_t pages = 0;  // Whole ones among them.
  };

  Beside beside(SegmentId id) const {
    if (id == no_segment || !heap_.usable((*heap_.segments_)[id], stream_)) return {};
    const Segment& segment = (*heap_.segments_)[id];
    return {segment.bytes, whole_pages(segment)};
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

bool Heap::reserve(std::uint64_t bytes, StreamId stream) {
  std::uint64_t wanted = std::max(next_range_bytes_, bytes);
  auto address = pages_->reserve_range(wanted);
  while (!address && wanted > bytes) {  // Addresses are scarce here: take what there is.
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

Status Heap::map(SegmentId claimed, StreamId stream) {
  (*segments_)[claimed].stream = stream;
  const Segment segment = (*segments_)[claimed];
  Status mapped = Done{};
  std::uint64_t end = segment.address;
  for (; end < segment.end(); end += page_bytes) {
    auto page = pages_->map(end);
    if (!page) {
      mapped = std::move(page).error();
      break;
    }
    page_at(segment, end) = *page;
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

// Pages that nothing may touch are unmapped again. Those that cannot even be unmapped are lost:
// they stay a used segment that belongs to nobody.
void Heap::retreat(SegmentId claimed, std::uint64_t end) {
  const Segment segment = (*segments_)[claimed];
  while (end > segment.address &&
         pages_->unmap(end - page_bytes, page_at(segment, end - page_bytes)))
    end -= page_bytes;
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
  const std::uint64_t last = round_down(before.end(), page_bytes);
  count = std::min(count, whole_pages(before));
  std::uint64_t done = 0;
  while (done < count) {
    const std::uint64_t at = last - (done + 1) * page_bytes;
    if (!pages_->unmap(at, page_at(before, at))) break;
    ++done;
  }
  if (done == 0) return 0;
  pages_->note(FlightKind::unmap, last - done * page_bytes, done * page_bytes,
               ranges_[before.range].stream);
  detach(free);
  const SegmentId hole = cut(free, last - done * page_bytes);
  const SegmentId above = cut(hole, last);
  (*segments_)[hole].state = SegmentState::hole;
  if (hole != free) attach_alone(free);
  if (above != no_segment) attach_alone(above);
  attach(hole);
  return done;
}

void Heap::unmap_all() {
  for (const Range& range : ranges_) {
    std::uint64_t mapped_to = range.address;  // Pages below this one have been looked at.
    for (SegmentId id = range.first; id != no_segment; id = (*segments_)[id].next) {
      const Segment segment = (*segments_)[id];
      if (segment.state == SegmentState::hole) continue;
      std::uint64_t at = std::max(mapped_to, round_down(segment.address, page_bytes));
      for (; at < segment.end(); at += page_bytes)
        static_cast<void>(pages_->unmap(at, page_at(segment, at)));
      mapped_to = at;
    }
  }
}

}  // namespace headroom::allocator
