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

FreeIndex& Heap::stream_index(StreamId stream) {
  for (StreamIndex& index : free_) {
    if (index.stream == stream) return index.segments;
  }
  return free_.emplace_back(StreamIndex{stream, FreeIndex(*segments_)}).segments;
}

PageHandle& Heap::page_at(const Segment& segment, std::uint64_t address) {
  Range& range = ranges_[segment.range];
  const std::uint64_t page = (address - range.address) / page_bytes;
  if (page >= range.pages.size()) range.pages.resize(page + 1);
  return range.pages[page];
}

std::uint64_t Heap::whole_pages(const Segment& segment) {
  const std::uint64_t first = round_up(segment.address, page_bytes);
  const std::uint64_t last = round_down(segment.end(), page_bytes);
  return last > first ? (last - first) / page_bytes : 0;
}

SegmentId Heap::best_fit(std::uint64_t bytes, StreamId stream) const {
  SegmentId best = no_segment;
  for (const StreamIndex& index : free_) {
    if (index.stream != stream && index.stream != any_stream) continue;
    const SegmentId found = index.segments.best_fit(bytes);
    if (found == no_segment) continue;
    const auto order = [this](SegmentId id) {
      return std::tie((*segments_)[id].bytes, (*segments_)[id].address);
    };
    if (best == no_segment || order(found) < order(best)) best = found;
  }
  return best;
}

SegmentId Heap::carve(SegmentId free, std::uint64_t bytes) {
  detach(free);
  Segment& segment = (*segments_)[free];
  segment.state = SegmentState::used;
  if (segment.bytes == bytes) return free;
  const SegmentId rest = cut(free, segment.address + bytes);
  (*segments_)[rest].state = SegmentState::free;
  attach_alone(rest);
  return free;
}

void Heap::release(SegmentId used) {
  (*segments_)[used].state = SegmentState::free;
  attach(used);
}

void Heap::publish(StreamId stream) {
  if (stream == any_stream) return;
  const auto found = std::find_if(free_.begin(), free_.end(),
                                  [&](const StreamIndex& each) { return each.stream == stream; });
  if (found == free_.end()) return;
  FreeIndex& index = found->segments;
  while (!index.empty()) {
    const SegmentId id = index.largest();
    index.erase(id);
    (*segments_)[id].stream = any_stream;
    attach(id);
  }
  free_.erase(found);
}

std::vector<StreamId> Heap::private_streams() const {
  std::vector<StreamId> streams;
  for (const StreamIndex& index : free_) {
    if (index.stream != any_stream && !index.segments.empty()) streams.push_back(index.stream);
  }
  return streams;
}

std::uint64_t Heap::address_bytes() const {
  std::uint64_t bytes = 0;
  for (const Range& range : ranges_) bytes += range.bytes;
  return bytes;
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
  if (only_addresses_lack && add_range(pages_for(bytes) * page_bytes)) best = search();
  return best;
}

bool Heap::add_range(std::uint64_t bytes) {
  std::uint64_t wanted = std::max(next_range_bytes_, bytes);
  auto address = pages_->reserve_range(wanted);
  while (!address && wanted > bytes) {  // Addresses are scarce here: take what there is.
    wanted = std::max(round_down(wanted / 2, page_bytes), bytes);
    address = pages_->reserve_range(wanted);
  }
  if (!address) return false;
  next_range_bytes_ = wanted * 2;
  Segment hole;
  hole.address = *address;
  hole.bytes = wanted;
  hole.heap = number_;
  hole.range = static_cast<std::uint32_t>(ranges_.size());
  const SegmentId id = segments_->create(hole);
  ranges_.push_back({*address, wanted, id, {}});
  attach_alone(id);
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
    if (Status allowed = pages_->allow_access(segment.address, end - segment.address); !allowed) {
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

SegmentId Heap::cut(SegmentId id, std::uint64_t address) {
  const Segment lower = (*segments_)[id];
  if (address <= lower.address) return id;
  if (address >= lower.end()) return no_segment;
  Segment upper = lower;
  upper.address = address;
  upper.bytes = lower.end() - address;
  upper.prev = id;
  const SegmentId made = segments_->create(upper);
  (*segments_)[id].bytes = address - lower.address;
  (*segments_)[id].next = made;
  if (lower.next != no_segment) (*segments_)[lower.next].prev = made;
  return made;
}

void Heap::absorb_next(SegmentId id) {
  Segment& segment = (*segments_)[id];
  const SegmentId gone = segment.next;
  segment.bytes += (*segments_)[gone].bytes;
  segment.next = (*segments_)[gone].next;
  if (segment.next != no_segment) (*segments_)[segment.next].prev = id;
  segments_->destroy(gone);
}

bool Heap::absorbs(const Segment& newcomer, SegmentId neighbour) const {
  if (neighbour == no_segment) return false;
  const Segment& other = (*segments_)[neighbour];
  if (other.state != newcomer.state) return false;
  // What every stream may have can become one stream's own; the reverse would be a race.
  return newcomer.state == SegmentState::hole || other.stream == newcomer.stream ||
         other.stream == any_stream;
}

SegmentId Heap::attach(SegmentId id) {
  // More than once, since what it absorbs can have kept it apart from one like it.
  while (absorbs((*segments_)[id], (*segments_)[id].next)) {
    detach((*segments_)[id].next);
    absorb_next(id);
  }
  while (absorbs((*segments_)[id], (*segments_)[id].prev)) {
    const SegmentId prev = (*segments_)[id].prev;
    detach(prev);
    (*segments_)[prev].stream = (*segments_)[id].stream;
    absorb_next(prev);
    id = prev;
  }
  attach_alone(id);
  return id;
}

void Heap::attach_alone(SegmentId id) {
  const Segment& segment = (*segments_)[id];
  (segment.state == SegmentState::hole ? holes_ : stream_index(segment.stream)).insert(id);
}

void Heap::detach(SegmentId id) {
  const Segment& segment = (*segments_)[id];
  (segment.state == SegmentState::hole ? holes_ : stream_index(segment.stream)).erase(id);
}

std::string Heap::broken_range(const Range& range) const {
  std::uint64_t at = range.address;
  SegmentId prev = no_segment;
  for (SegmentId id = range.first; id != no_segment; id = (*segments_)[id].next) {
    const Segment& segment = (*segments_)[id];
    if (segment.address != at || segment.prev != prev || segment.bytes == 0)
      return fmt::format("the segment at {:#x} does not follow its neighbour", segment.address);
    if (segment.bytes % granule_bytes != 0) return fmt::format("{:#x}: uneven size", at);
    if (segment.state == SegmentState::hole &&
        (at % page_bytes != 0 || segment.bytes % page_bytes != 0))
      return fmt::format("the hole at {:#x} is not made of whole pages", at);
    if (prev != no_segment && segment.state != SegmentState::used) {
      const Segment& before = (*segments_)[prev];
      const bool alike = before.state == segment.state &&
                         (segment.state == SegmentState::hole || before.stream == segment.stream);
      if (alike) return fmt::format("the segment at {:#x} should be merged with the one below", at);
    }
    at = segment.end();
    prev = id;
  }
  if (at != range.address + range.bytes)
    return fmt::format("the range at {:#x} is not tiled", range.address);
  return "";
}

std::uint64_t Heap::bytes_in(SegmentState state) const {
  std::uint64_t bytes = 0;
  for (const Range& range : ranges_) {
    for (SegmentId id = range.first; id != no_segment; id = (*segments_)[id].next) {
      if ((*segments_)[id].state == state) bytes += (*segments_)[id].bytes;
    }
  }
  return bytes;
}

std::string Heap::broken_invariant() const {
  for (const Range& range : ranges_) {
    if (std::string broken = broken_range(range); !broken.empty()) return broken;
  }
  std::uint64_t indexed_free = 0;
  for_each_free([&](const Segment& segment) {
    if (segment.state == SegmentState::free) indexed_free += segment.bytes;
  });
  if (indexed_free != bytes_in(SegmentState::free))
    return "the free segments and their index differ";
  std::uint64_t indexed_holes = 0;
  holes_.for_each_from(0, [&](SegmentId id) { indexed_holes += (*segments_)[id].bytes; });
  if (indexed_holes != bytes_in(SegmentState::hole)) return "the holes and their index differ";
  return "";
}

}  // namespace headroom::allocator
