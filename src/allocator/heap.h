// SPDX-License-Identifier: Apache-2.0
// Address ranges in which blocks are packed by best fit. Where no free block is large enough, a
// heap finds the cheapest window: addresses that would become contiguous if a few pages were mapped
// into a hole. Who pays for these pages is the allocator's business; a heap never decides to unmap.
// Not thread-safe: the allocator's lock protects it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "allocator/free_index.h"
#include "allocator/page_pool.h"
#include "allocator/segment.h"

namespace headroom::allocator {

// Whole pages that a window may use: spare ones are mapped nowhere, movable ones lie in free bytes.
struct Supply {
  std::uint64_t spare = 0;
  std::uint64_t movable = 0;
};

// A place for a block of which `pages` pages, from `first_page` on, are not mapped yet.
struct Window {
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
  SegmentId hole = no_segment;
  std::uint64_t first_page = 0;
  std::uint64_t pages = 0;

  bool contains(const Segment& segment) const {
    return segment.address < address + bytes && address < segment.end();
  }
};

class Heap {
 public:
  // `number` marks the heap's segments.
  Heap(std::uint8_t number, SegmentTable& segments, PagePool& pages,
       std::uint64_t first_range_bytes)
      : number_(number),
        segments_(&segments),
        pages_(&pages),
        holes_(segments),
        next_range_bytes_(first_range_bytes) {
    stream_index(any_stream);
  }

  // Blocks. Best fit looks at what `stream` freed itself and at what every stream may have.
  SegmentId best_fit(std::uint64_t bytes, StreamId stream) const;
  // Makes the first `bytes` of a free segment a used one and returns it; the rest stays free.
  SegmentId carve(SegmentId free, std::uint64_t bytes);
  void release(SegmentId used);
  void publish(StreamId stream);  // What the stream freed may now go to every stream.

  // Windows. Picks the one with the fewest pages to map, of those that the supply allows; movable
  // pages that lie in the window itself cannot be moved to it. Reserves more addresses when no hole
  // will do.
  std::optional<Window> find_window(std::uint64_t bytes, StreamId stream, Supply supply);
  // Takes the window's pages out of their hole, so that nothing merges with them.
  SegmentId claim(const Window& window);
  // Maps the claimed pages. On failure what was mapped becomes free and the rest a hole again.
  Status map(SegmentId claimed, StreamId stream);
  void give_up(SegmentId claimed);  // Instead of map(): back into a hole.
  // Makes all of the window one used segment. Requires: map(claimed) succeeded.
  SegmentId occupy(const Window& window, SegmentId claimed);

  // Unmaps up to `count` whole pages of a free segment, from its end, into the pool; how many.
  std::uint64_t unmap_pages(SegmentId free, std::uint64_t count);

  static std::uint64_t whole_pages(const Segment& segment);
  bool usable(const Segment& segment, StreamId stream) const {
    return segment.state == SegmentState::free &&
           (segment.stream == stream || segment.stream == any_stream);
  }
  // Calls visit(SegmentId) for the stream's free segments that hold at least one whole page.
  template <class Visit>
  void for_each_with_pages(StreamId stream, Visit&& visit) const {
    for (const StreamIndex& index : free_) {
      if (index.stream != stream && index.stream != any_stream) continue;
      index.segments.for_each_from(page_bytes, [&](SegmentId id) {
        if (whole_pages((*segments_)[id]) > 0) visit(id);
      });
    }
  }
  template <class Visit>
  void for_each_free(Visit&& visit) const {
    for (const StreamIndex& index : free_)
      index.segments.for_each_from(0, [&](SegmentId id) { visit((*segments_)[id]); });
  }
  std::vector<StreamId> private_streams() const;  // Those that free segments still belong to.
  std::size_t stream_count() const { return free_.size(); }  // At least as many as those.
  std::uint64_t address_bytes() const;                       // Reserved so far.

  std::uint64_t bytes_in(SegmentState state) const;

  // Unmaps everything, used or not: for the end of the allocator.
  void unmap_all();

  // Everything that must hold between calls; empty if it does, else what does not.
  std::string broken_invariant() const;

 private:
  struct Range {
    std::uint64_t address = 0;
    std::uint64_t bytes = 0;
    SegmentId first = no_segment;
    std::vector<PageHandle> pages;  // By page of the range, as far as any was ever mapped.
  };
  struct StreamIndex {
    StreamId stream;
    FreeIndex segments;
  };

  FreeIndex& stream_index(StreamId stream);
  PageHandle& page_at(const Segment& segment, std::uint64_t address);
  void retreat(SegmentId claimed, std::uint64_t end);
  bool add_range(std::uint64_t bytes);
  class WindowSearch;

  // The segments of a range tile it. cut() and absorb_next() change the tiling, of segments that
  // are in no index. attach() merges one with the neighbours that it may merge with and puts the
  // result into its index, attach_alone() puts it there as it is, detach() takes it out.
  SegmentId cut(SegmentId id, std::uint64_t address);
  void absorb_next(SegmentId id);
  SegmentId attach(SegmentId id);
  void attach_alone(SegmentId id);
  void detach(SegmentId id);
  bool absorbs(const Segment& newcomer, SegmentId neighbour) const;
  std::string broken_range(const Range& range) const;

  std::uint8_t number_;
  SegmentTable* segments_;
  PagePool* pages_;
  std::vector<Range> ranges_;
  std::vector<StreamIndex> free_;  // The first is any_stream's.
  FreeIndex holes_;
  std::uint64_t next_range_bytes_;
};

}  // namespace headroom::allocator
