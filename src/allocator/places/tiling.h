// SPDX-License-Identifier: Apache-2.0
// Address ranges tiled by segments, with an index of the free ones for each stream: what every way
// of getting memory shares. A block is found by best fit, cut off, and merged with its free
// neighbours when it comes back.
//
// Not thread-safe: whoever owns it protects it.
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
  // `number` marks its segments. `segments` outlives it. `has_pages`: its memory is pages, each of
  // which can be unmapped.
  Tiling(std::uint8_t number, SegmentTable& segments, bool has_pages)
      : number_(number), has_pages_(has_pages), segments_(&segments), holes_(segments) {
    stream_index(any_stream);
  }

  // Best fit looks at what `stream` freed itself and at what every stream may have.
  SegmentId best_fit(std::uint64_t bytes, StreamId stream) const;
  // Makes the first `bytes` of a free segment a used one and returns it; the rest stays free.
  SegmentId carve(SegmentId free, std::uint64_t bytes);
  void release(SegmentId used);
  void publish(StreamId stream);  // What the stream freed may now go to every stream.

  // A part of a block: it stays used, or becomes free.
  struct Piece {
    std::uint64_t address = 0;
    std::uint64_t bytes = 0;
  };
  // Cuts a used segment up: the pieces, which lie in it in the order of address and do not touch
  // each other's bytes, become used segments of their own, and what is between them becomes free.
  // Returns their segments. The stream of all of them is the block's.
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
  // Calls visit(SegmentId) for every segment, by range and address.
  template <class Visit>
  void for_each(Visit&& visit) const {
    for (const Range& range : ranges_) {
      for (SegmentId id = range.first; id != no_segment; id = (*segments_)[id].next) visit(id);
    }
  }
  // Told of every range from now on, and of those that are there already.
  using RangeListener = std::function<void(std::uint64_t address, std::uint64_t bytes)>;
  void listen(RangeListener listener);

  // Adds its free pieces and its memory, as a request of this stream sees them.
  void add_to(HeapView& view, StreamId stream) const;

  std::vector<StreamId> private_streams() const;  // Those that free segments still belong to.
  // How many streams it keeps an index for: those, and some that had free segments before.
  std::size_t stream_count() const { return free_.size(); }
  void forget_idle_streams();           // Those that have none now.
  std::uint64_t address_bytes() const;  // Of all ranges.
  std::uint64_t bytes_in(SegmentState state) const;

  // Everything that must hold between calls; empty if it does, else what does not.
  std::string broken_invariant() const;

 protected:
  struct Range {
    std::uint64_t address = 0;
    std::uint64_t bytes = 0;  // 0: removed; the place is there for another one.
    SegmentId first = no_segment;
    StreamId stream = 0;  // Whose request it was taken for.
  };
  // An index is large; the list of them is gone through by every search.
  struct StreamIndex {
    StreamId stream;
    std::unique_ptr<FreeIndex> segments;
  };

  // A new range that is one segment of this state, for a request of the stream; its index in
  // ranges_.
  std::uint32_t add_range(std::uint64_t address, std::uint64_t bytes, SegmentState state,
                          StreamId stream);
  // Requires: one free segment is all of it.
  void remove_range(std::uint32_t range);

  FreeIndex& stream_index(StreamId stream);
  // The segments of a range tile it. cut() and absorb_next() change the tiling, of segments that
  // are in no index. attach() merges one with the neighbours that it may merge with and puts the
  // result into its index, attach_alone() puts it there as it is, detach() takes it out.
  SegmentId cut(SegmentId id, std::uint64_t address);
  void absorb_next(SegmentId id);
  SegmentId attach(SegmentId id);
  void attach_alone(SegmentId id);
  void detach(SegmentId id);

  Tiling(const Tiling&) = delete;
  Tiling(Tiling&&) = default;
  Tiling& operator=(const Tiling&) = delete;
  Tiling& operator=(Tiling&&) = default;
  ~Tiling() = default;

  // FreePiece::pinned_bytes of a free segment.
  virtual std::uint64_t pinned_bytes(const Segment& /*free*/) const { return 0; }

  std::uint8_t number_;
  bool has_pages_;
  SegmentTable* segments_;
  std::vector<Range> ranges_;
  std::vector<StreamIndex> free_;  // The first is any_stream's.
  FreeIndex holes_;

 private:
  bool absorbs(const Segment& newcomer, SegmentId neighbour) const;
  std::string broken_range(const Range& range) const;

  std::vector<std::uint32_t> removed_ranges_;
  RangeListener listener_;
};

}  // namespace headroom::allocator
