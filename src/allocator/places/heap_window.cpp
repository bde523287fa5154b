// SPDX-License-Identifier: Apache-2.0
// The search for a window: where the fewest pages have to be mapped for a block.
#include <algorithm>
#include <tuple>
#include <utility>

#include "allocator/places/heap.h"
#include "base/bytes.h"

namespace headroom::allocator {
namespace {

constexpr std::uint64_t pages_for(std::uint64_t bytes) {
  return (bytes + page_bytes - 1) / page_bytes;
}

}  // namespace

// Looks at holes one by one and keeps the best window. Repairs leave small holes between free
// bytes; the memory of a whole iteration can often be had by filling a few of them.
class Heap::WindowSearch {
 public:
  WindowSearch(const Heap& heap, std::uint64_t bytes, StreamId stream, Supply supply)
      : heap_(heap), bytes_(bytes), stream_(stream), supply_(supply) {}

  // Tries the windows that begin with the free bytes below the hole, or with the hole where there
  // are none, and those that end with the free bytes above it. One with the fewest pages is among
  // them: any other could be moved until a free segment ends at its border.
  void look_at(SegmentId id) {
    walk(id, true);
    if (is_usable(segment(id).next)) walk(id, false);
  }

  std::optional<Window> best() && { return std::move(best_); }

 private:
  const Segment& segment(SegmentId id) const { return (*heap_.segments_)[id]; }
  bool is_usable(SegmentId id) const {
    return id != no_segment && heap_.usable(segment(id), stream_);
  }

  // Goes from hole to hole, upwards or downwards, until there is room for the block.
  void walk(SegmentId id, bool up) {
    const auto behind = [&](SegmentId at) { return up ? segment(at).prev : segment(at).next; };
    const auto ahead = [&](SegmentId at) { return up ? segment(at).next : segment(at).prev; };
    Window window;
    window.bytes = bytes_;
    std::uint64_t room = 0;     // In the free segments and the holes so far.
    std::uint64_t covered = 0;  // Movable pages in those free segments.
    const auto add_free = [&](SegmentId free) {
      room += segment(free).bytes;
      covered += heap_.movable_pages(segment(free));
    };
    if (is_usable(behind(id))) add_free(behind(id));
    const std::uint64_t border = up ? segment(id).address - room : segment(id).end() + room;
    window.address = up ? border : border - bytes_;
    for (;;) {
      const Segment& hole = segment(id);
      const std::uint64_t wanted = pages_for(bytes_ - std::min(bytes_, room));
      window.hole = id;
      window.last_pages = std::min(wanted, hole.bytes / page_bytes);
      window.first_page = up ? hole.address : hole.end() - window.last_pages * page_bytes;
      window.pages += window.last_pages;
      if (wanted == 0 || !may_be_best(window)) return;
      room += hole.bytes;
      const SegmentId free = ahead(id);
      if (room < bytes_ && is_usable(free)) add_free(free);
      if (room >= bytes_) return consider(window, covered);
      if (!is_usable(free) || !is_hole(ahead(free))) return;
      window.filled.push_back(id);
      id = ahead(free);
    }
  }

  bool is_hole(SegmentId id) const {
    return id != no_segment && segment(id).state == SegmentState::hole;
  }

  bool may_be_best(const Window& window) const {
    return window.pages <= supply_.spare + supply_.movable &&
           (!best_ || window.pages <= best_->pages);
  }

  void consider(const Window& window, std::uint64_t covered_pages) {
    const std::uint64_t movable = supply_.movable - std::min(supply_.movable, covered_pages);
    if (window.pages > supply_.spare + movable) return;
    const auto order = [this](const Window& each) {
      return std::tuple(each.pages, each.filled.size(), segment(each.hole).bytes, each.address);
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
    return std::move(windows).best();
  };
  std::optional<Window> best = search();
  const bool only_addresses_lack = !best && pages_for(bytes) <= supply.spare + supply.movable;
  if (only_addresses_lack && reserve(pages_for(bytes) * page_bytes, stream)) best = search();
  return best;
}

void Heap::widen(Window& window, std::uint64_t multiple) const {
  const Segment& hole = (*segments_)[window.hole];
  const std::uint64_t room = (hole.end() - window.first_page) / page_bytes;
  const std::uint64_t wanted = round_up(window.last_pages, multiple);
  if (wanted > room) return;
  window.pages += wanted - window.last_pages;
  window.last_pages = wanted;
}

}  // namespace headroom::allocator
