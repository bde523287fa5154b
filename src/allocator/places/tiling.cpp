// SPDX-License-Identifier: Apache-2.0
#include "allocator/places/tiling.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "allocator/backend.h"
#include "base/require.h"

namespace headroom::allocator {

FreeIndex* Tiling::known_index(StreamId stream) const {
  if (stream == last_stream_) return last_segments_;
  for (const StreamIndex& index : free_)
    if (index.stream == stream) return index.segments.get();
  return nullptr;
}

FreeIndex& Tiling::find_index(StreamId stream) {
  last_segments_ = known_index(stream);
  if (last_segments_ == nullptr) {
    free_.push_back({stream, std::make_unique<FreeIndex>(*segments_)});
    last_segments_ = free_.back().segments.get();
  }
  last_stream_ = stream;
  return *last_segments_;
}

SegmentId Tiling::best_fit(std::uint64_t bytes, StreamId stream) const {
  const FreeIndex& for_all = *free_.front().segments;
  const FreeIndex* own = stream != any_stream ? known_index(stream) : nullptr;
  const SegmentId of_stream = own != nullptr ? own->best_fit(bytes) : no_segment;
  if (for_all.empty()) return of_stream;
  const SegmentId of_all = for_all.best_fit(bytes);
  if (of_stream == no_segment || of_all == no_segment)
    return of_stream == no_segment ? of_all : of_stream;
  return segments_->before(of_stream, of_all) ? of_stream : of_all;
}

SegmentId Tiling::carve(SegmentId free, std::uint64_t bytes) {
  detach(free);
  Segment& segment = (*segments_)[free];
  segment.state = SegmentState::used;
  if (segment.bytes == bytes) return free;
  const SegmentId rest = cut(free, segment.address + bytes);
  (*segments_)[rest].state = SegmentState::free;
  attach_alone(rest);
  return free;
}

void Tiling::release(SegmentId used) {
  (*segments_)[used].state = SegmentState::free;
  attach(used);
}

void Tiling::publish(StreamId stream) {
  if (stream == any_stream) return;
  const auto found = std::find_if(free_.begin(), free_.end(),
                                  [&](const StreamIndex& each) { return each.stream == stream; });
  if (found == free_.end()) return;
  FreeIndex& index = *found->segments;
  while (!index.empty()) {
    const SegmentId id = index.largest();
    index.erase(id);
    (*segments_)[id].stream = any_stream;
    attach(id);
  }
  last_stream_ = any_stream;
  free_.erase(found);
}

void Tiling::forget_idle_streams() {
  last_stream_ = any_stream;
  std::erase_if(free_, [](const StreamIndex& index) {
    return index.stream != any_stream && index.segments->empty();
  });
}

std::vector<StreamId> Tiling::private_streams() const {
  std::vector<StreamId> streams;
  for (const StreamIndex& index : free_) {
    if (index.stream != any_stream && !index.segments->empty()) streams.push_back(index.stream);
  }
  return streams;
}

std::uint32_t Tiling::add_range(std::uint64_t address, std::uint64_t bytes, SegmentState state,
                                StreamId stream) {
  std::uint32_t index = 0;
  if (removed_ranges_.empty()) {
    index = static_cast<std::uint32_t>(ranges_.size());
    ranges_.emplace_back();
  } else {
    index = removed_ranges_.back();
    removed_ranges_.pop_back();
  }
  Segment whole;
  whole.address = address;
  whole.bytes = bytes;
  whole.heap = number_;
  whole.range = index;
  whole.state = state;
  const SegmentId id = segments_->create(whole);
  ranges_[index] = {address, bytes, id, stream};
  address_bytes_ += bytes;
  if (listener_) listener_(address, bytes);
  attach_alone(id);
  return index;
}

void Tiling::listen(RangeListener listener) {
  listener_ = std::move(listener);
  for (const Range& range : ranges_)
    if (range.bytes > 0) listener_(range.address, range.bytes);
}

void Tiling::remove_range(std::uint32_t range) {
  const SegmentId id = ranges_[range].first;
  const Segment& whole = (*segments_)[id];
  require(whole.state == SegmentState::free && whole.bytes == ranges_[range].bytes,
          "one free segment is all of the range that is removed");
  detach(id);
  segments_->destroy(id);
  address_bytes_ -= ranges_[range].bytes;
  ranges_[range] = {};
  removed_ranges_.push_back(range);
}

std::vector<SegmentId> Tiling::carve_up(SegmentId block, const std::vector<Piece>& pieces) {
  std::vector<SegmentId> used;
  std::vector<SegmentId> unused;
  SegmentId rest = block;
  for (const Piece& piece : pieces) {
    const SegmentId here = cut(rest, piece.address);
    if (here != rest) unused.push_back(rest);
    used.push_back(here);
    rest = cut(here, piece.address + piece.bytes);
  }
  if (rest != no_segment) unused.push_back(rest);
  for (const SegmentId id : unused) release(id);
  return used;
}

SegmentId Tiling::cut(SegmentId id, std::uint64_t address) {
  const Segment& whole = (*segments_)[id];
  if (address <= whole.address) return id;
  if (address >= whole.end()) return no_segment;
  const SegmentId made = segments_->copy(id);
  Segment& lower = (*segments_)[id];
  Segment& upper = (*segments_)[made];
  upper.bytes = lower.end() - address;
  upper.address = address;
  upper.prev = id;
  lower.bytes = address - lower.address;
  lower.next = made;
  if (upper.next != no_segment) (*segments_)[upper.next].prev = made;
  return made;
}

void Tiling::absorb_next(SegmentId id) {
  Segment& segment = (*segments_)[id];
  const SegmentId gone = segment.next;
  segment.bytes += (*segments_)[gone].bytes;
  segment.next = (*segments_)[gone].next;
  if (segment.next != no_segment) (*segments_)[segment.next].prev = id;
  segments_->destroy(gone);
}

bool Tiling::absorbs(const Segment& newcomer, SegmentId neighbour) const {
  if (neighbour == no_segment) return false;
  const Segment& other = (*segments_)[neighbour];
  if (other.state != newcomer.state) return false;
  // Free bytes that every stream may use can become one stream's own; the reverse would be a race.
  return newcomer.state == SegmentState::hole || other.stream == newcomer.stream ||
         other.stream == any_stream;
}

SegmentId Tiling::attach(SegmentId id) {
  // Repeats, since the absorbed segment may have kept it apart from another one like it.
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

std::string Tiling::broken_range(const Range& range) const {
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

void Tiling::add_to(HeapView& view, StreamId stream) const {
  for (const Range& range : ranges_) {
    bool follows = false;  // The previous segment is mapped as well.
    for (SegmentId id = range.first; id != no_segment; id = (*segments_)[id].next) {
      const Segment& segment = (*segments_)[id];
      const bool is_mapped = segment.state != SegmentState::hole;
      if (is_mapped && follows) view.spans.back().bytes += segment.bytes;
      if (is_mapped && !follows)
        view.spans.push_back({segment.address, segment.bytes, range.stream, has_pages_});
      follows = is_mapped;
      if (segment.state == SegmentState::free)
        view.free.push_back({segment.address, segment.bytes, segment.stream,
                             !usable(segment, stream), pinned_bytes(segment)});
    }
  }
}

std::uint64_t Tiling::bytes_in(SegmentState state) const {
  std::uint64_t bytes = 0;
  for (const Range& range : ranges_) {
    for (SegmentId id = range.first; id != no_segment; id = (*segments_)[id].next) {
      if ((*segments_)[id].state == state) bytes += (*segments_)[id].bytes;
    }
  }
  return bytes;
}

std::string Tiling::broken_invariant() const {
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
