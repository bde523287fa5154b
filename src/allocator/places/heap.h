// SPDX-License-Identifier: Apache-2.0
// A tiling over pages. If no free block is large enough, a heap finds the cheapest window:
// addresses that become contiguous memory if a few pages are mapped into a hole. Where these pages
// come from is the core's decision; a heap never decides to unmap.
//
// Not thread-safe: whoever owns it protects it.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "allocator/places/device_pool.h"
#include "allocator/places/tiling.h"

namespace headroom::allocator {

// How many pages a window may use. Spare pages are not mapped anywhere; movable pages lie in free
// bytes together with all other pages of their handle.
struct Supply {
  std::uint64_t spare = 0;
  std::uint64_t movable = 0;
};

// A place for a block. All of it is mapped but `pages` pages: whole holes that lie in it, and the
// `last_pages` from `first_page` on, which need not be all of their hole.
struct Window {
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
  SegmentId hole = no_segment;
  std::uint64_t first_page = 0;
  std::uint64_t last_pages = 0;
  std::uint64_t pages = 0;
  std::vector<SegmentId> filled;  // The whole holes.

  bool contains(const Segment& segment) const {
    return segment.address < address + bytes && address < segment.end();
  }
};

class Heap final : public Tiling {
 public:
  // `number` marks the heap's segments. The table and the pool outlive it.
  Heap(std::uint8_t number, SegmentTable& segments, DevicePool& pages,
       std::uint64_t first_range_bytes)
      : Tiling(number, segments, true), pages_(&pages), next_range_bytes_(first_range_bytes) {}

  // Like carve(), but a large block lies at the end of the free segment where its neighbour is the
  // younger one. Blocks that were born together mostly die together, so what stays free lies beside
  // the older neighbour, and becomes one piece with it sooner.
  SegmentId carve_beside_younger(SegmentId free, std::uint64_t bytes);
  // For a block of whole pages: it begins at a page's border, if the free segment fits_on_pages(),
  // and lies where the segment touches one, or else beside its younger neighbour. Inside a page it
  // would pin one more, and its neighbours' free bytes would end inside pages too.
  SegmentId carve_on_pages(SegmentId free, std::uint64_t bytes);
  bool fits_on_pages(SegmentId free, std::uint64_t bytes) const;

  // Finds the window with the fewest pages to map, among those that the supply allows; movable
  // pages inside the window do not count as supply for it. A window may span several holes, as long
  // as nothing but free bytes lies between them. Reserves more addresses if no hole will do.
  std::optional<Window> find_window(std::uint64_t bytes, StreamId stream, Supply supply);
  // Adds pages above the window's last ones, if their hole has them, so that these are a multiple
  // of `multiple`.
  void widen(Window& window, std::uint64_t multiple) const;
  // Takes the window's pages out of their holes, so that nothing merges with them. Returns the
  // segment of the last ones.
  SegmentId claim(const Window& window);
  // Maps the claimed pages; see DevicePool::map() for `per_handle`. On failure the pages that were
  // mapped become free, and the rest becomes holes again.
  Status map(const Window& window, SegmentId claimed, StreamId stream,
             std::uint64_t per_handle = 1);
  void give_up(const Window& window, SegmentId claimed);  // Undoes claim(), instead of map().
  // Turns the whole window into one used segment. Requires: map() succeeded.
  SegmentId occupy(const Window& window, SegmentId claimed);

  // Unmaps up to `count` movable pages of a free segment, from its end, into the pool. Returns how
  // many; they may be more than `count`, since a handle is unmapped as a whole.
  std::uint64_t unmap_pages(SegmentId free, std::uint64_t count);

  std::uint64_t movable_pages(const Segment& segment) const;
  // The size in pages of the free segments of at least a page that the stream may use.
  std::uint64_t free_pages(StreamId stream) const;
  // Calls visit(SegmentId) for the stream's free segments that hold at least one movable page.
  template <class Visit>
  void for_each_with_pages(StreamId stream, Visit&& visit) const {
    for (const StreamIndex& index : free_) {
      if (index.stream != stream && index.stream != any_stream) continue;
      index.segments->for_each_from(page_bytes, [&](SegmentId id) {
        if (movable_pages((*segments_)[id]) > 0) visit(id);
      });
    }
  }

  // Unmaps everything, used or not, at the end of the allocator.
  void unmap_all();

 private:
  // A mapped page: its handle and its index among the handle's pages.
  struct Page {
    DevicePool::Pages pages;
    std::uint32_t place = 0;
    std::uint64_t begin(std::uint64_t address) const { return address - place * page_bytes; }
    std::uint64_t end(std::uint64_t address) const {
      return begin(address) + pages.count * page_bytes;
    }
  };
  // The part of a segment that consists of whole handles, which is contiguous.
  struct Movable {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
  };

  Movable movable(const Segment& segment) const;
  const Page& page_at(const Segment& segment, std::uint64_t address) const;
  bool is_younger_above(const Segment& free) const;
  void note_mapped(const Segment& segment, std::uint64_t address, DevicePool::Pages pages);
  void become_hole(SegmentId claimed);
  Status map_segment(SegmentId claimed, StreamId stream, std::uint64_t per_handle);
  void retreat(SegmentId claimed, std::uint64_t end);
  bool reserve(std::uint64_t bytes, StreamId stream);
  std::uint64_t pinned_bytes(const Segment& free) const override;
  class WindowSearch;

  DevicePool* pages_;
  // Indexed by range, then by page of the range, up to the last page that was ever mapped.
  std::vector<std::vector<Page>> pages_of_range_;
  std::uint64_t next_range_bytes_;
};

}  // namespace headroom::allocator
