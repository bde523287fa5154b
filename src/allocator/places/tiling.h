// SPDX-License-Identifier: Apache-2.0
// Address ranges tiled by segments, with an index of the free ones for each stream; heaps of pages
// and of plain allocations share this. A block is found by best fit, cut off a free segment, and
// merged with its free neighbours when it is freed.
//
// Not thread-safe: the owner protects it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "allocator/forensics/heap_view.h"
#include "allocator/places/free_index.h"
#include "allocator/places/segment.h"

namespace headroom::allocator {

class Tiling {
 public:
  // `number` marks the tiling's segments. `segments` outlives it. `has_pages` says that its memory
  // consists of pages, each of which can be unmapped.
  Tiling(std::uint8_t number, SegmentTable& segments, bool has_pages)
      : number_(number), has_pages_(has_pages), segments_(&segments), holes_(segments) {
    free_.push_back({any_stream, std::make_unique<FreeIndex>(segments)});
  }

  // Finds the best fit among what `stream` itself freed and what every stream may use.
  SegmentId best_fit(std::uint64_t bytes, StreamId stream) const;
  // Makes the first `bytes` of a free segment a used one and returns it; the rest stays free.
  SegmentId carve(SegmentId free, std::uint64_t bytes);
  void release(SegmentId used);
  void publish(StreamId stream);  // Every stream may now reuse what it freed.

  // A part of a block that stays used.
  struct Piece {
    std::uint64_t address = 0;
    std::uint64_t bytes = 0;
  };
  // Cuts a used segment up. The pieces, which lie in it in the order of address without
  // overlapping, become used segments of their own, and what is between them becomes free. Returns
  // the pieces' segments. All of them keep the block's stream.
  std::vector<SegmentId> carve_up(SegmentId block, const std::vector<Piece>& pieces);

  bool usable(const Segment& segment, StreamId stream) const {
    return segment.state == SegmentState::free &&
           (segment.stream == stream || segment.stream == any_stream);
  }
  // Calls visit(const Segment&) for every free segment.
  template <class Visit>
  void for_each_free(Visit&& visit) const {
    for (const StreamIndex& index : free_)
      index.segments->for_each_from(0, [&](SegmentId id) { visit((*segments_)[id]); });
  }
  // Calls visit(SegmentId) for every segment, range by range, in the order of address.
  template <class Visit>
  void for_each(Visit&& visit) const {
    for (const Range& range : ranges_) {
      for (SegmentId id = range.first; id != no_segment; id = (*segments_)[id].next) visit(id);
    }
  }
  // Is told of the ranges that exist already, and of every new one.
  using RangeListener = std::function<void(std::uint64_t address, std::uint64_t bytes)>;
  void listen(RangeListener listener);

  // Adds the free pieces and the memory to `view`, as a request of this stream sees them.
  void add_to(HeapView& view, StreamId stream) const;

  std::vector<StreamId> private_streams() const;  // Those that still own free segments.
  // How many streams have an index: the private ones, and some that owned free segments before.
  std::size_t stream_count() const { return free_.size(); }
  void forget_idle_streams();                                     // Drops indexes without segments.
  std::uint64_t address_bytes() const { return address_bytes_; }  // All ranges together.
  std::uint64_t bytes_in(SegmentState state) const;

  // Checks everything that must hold between calls; returns what does not hold, or an empty text.
  std::string broken_invariant() const;

 protected:
  struct Range {
    std::uint64_t address = 0;
    std::uint64_t bytes = 0;  // 0 if it was removed; the entry can be used for another range.
    SegmentId first = no_segment;
    StreamId stream = 0;  // The one whose request it was taken for.
  };
  // Every search goes through the list of indexes; an index is large, so the list has pointers.
  struct StreamIndex {
    StreamId stream;
    std::unique_ptr<FreeIndex> segments;
  };

  // Adds a range that is one segment of this state, for a request of the stream; returns its index
  // in ranges_.
  std::uint32_t add_range(std::uint64_t address, std::uint64_t bytes, SegmentState state,
                          StreamId stream);
  // Requires: the range is one free segment.
  void remove_range(std::uint32_t range);

  FreeIndex& stream_index(StreamId stream) {
    if (stream == any_stream) return *free_.front().segments;
    return stream == last_stream_ ? *last_segments_ : find_index(stream);
  }
  // cut() splits a segment and absorb_next() joins it with the next one; both require that it is in
  // no index. attach() merges a segment with the neighbours that it may merge with and puts the
  // result into its index; attach_alone() puts it there as it is; detach() takes it out.
  SegmentId cut(SegmentId id, std::uint64_t address);
  void absorb_next(SegmentId id);
  SegmentId attach(SegmentId id);
  void attach_alone(SegmentId id) { index_of((*segments_)[id]).insert(id); }
  void detach(SegmentId id) { index_of((*segments_)[id]).erase(id); }

  Tiling(const Tiling&) = delete;
  Tiling(Tiling&&) = default;
  Tiling& operator=(const Tiling&) = delete;
  Tiling& operator=(Tiling&&) = default;
  ~Tiling() = default;

  // The FreePiece::pinned_bytes of a free segment.
  virtual std::uint64_t pinned_bytes(const Segment& /*free*/) const { return 0; }

  std::uint8_t number_;
  bool has_pages_;
  SegmentTable* segments_;
  std::vector<Range> ranges_;
  std::vector<StreamIndex> free_;  // The first is for any_stream.
  FreeIndex holes_;

 private:
  FreeIndex& index_of(const Segment& segment) {
    return segment.state == SegmentState::hole ? holes_ : stream_index(segment.stream);
  }
  // Null if there is none. Requires: the stream is not any_stream.
  FreeIndex* known_index(StreamId stream) const;
  FreeIndex& find_index(StreamId stream);
  bool absorbs(const Segment& newcomer, SegmentId neighbour) const;
  std::string broken_range(const Range& range) const;

  // The index of a single stream that was asked for last, if there is one.
  StreamId last_stream_ = any_stream;
  FreeIndex* last_segments_ = nullptr;
  std::uint64_t address_bytes_ = 0;
  std::vector<std::uint32_t> removed_ranges_;
  RangeListener listener_;
};

}  // namespace headroom::allocator
