// SPDX-License-Identifier: Apache-2.0
// A tiling over pages: where no free block is large enough, a
// heap finds the cheapest window: addresses that would become contiguous if a few pages were mapped
// into a hole. Who pays for these pages is the allocator's business; a heap never decides to unmap.
//
// Not thread-safe: whoever owns it protects it.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "allocator/device_pool.h"
#include "allocator/tiling.h"

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

class Heap : public Tiling {
 public:
  // `number` marks the heap's segments. The table and the pool outlive it.
  Heap(std::uint8_t number, SegmentTable& segments, DevicePool& pages,
       std::uint64_t first_range_bytes)
      : Tiling(number, segments, true), pages_(&pages), next_range_bytes_(first_range_bytes) {}

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

  // Unmaps everything, used or not: for the end of the allocator.
  void unmap_all();

 private:
  PageHandle& page_at(const Segment& segment, std::uint64_t address);
  void retreat(SegmentId claimed, std::uint64_t end);
  bool reserve(std::uint64_t bytes, StreamId stream);
  class WindowSearch;

  DevicePool* pages_;
  // By range, then by page of the range, as far as any was ever mapped.
  std::vector<std::vector<PageHandle>> pages_of_range_;
  std::uint64_t next_range_bytes_;
};

}  // namespace headroom::allocator
