// SPDX-License-Identifier: Apache-2.0
// One way of getting places for blocks: over pages that are mapped where they are needed
// (PagedCore), or over plain allocations that come and go (PlainCore). A core knows sizes, streams
// and places; addresses that programs hold, tags and plans are its owner's business.
//
// Not thread-safe: its owner's lock protects it. The DevicePool that cores share protects itself.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "allocator/places/device_pool.h"
#include "allocator/places/tiling.h"

namespace headroom::allocator {

// What a core does on a miss, counted since its birth.
struct MissCounts {
  std::uint64_t growths = 0;        // Memory was taken from the device.
  std::uint64_t repairs = 0;        // Free pages were moved.
  std::uint64_t moved_pages = 0;    // By repairs.
  std::uint64_t flushes = 0;        // Idle plain allocations went back to the device.
  std::uint64_t waits = 0;          // For other streams, because nothing else was left.
  std::uint64_t foreign_frees = 0;  // free() or retag() of an address that is not live: ignored.
};

class Core {
 public:
  virtual ~Core() = default;

  // A used segment of exactly `bytes`, a multiple of granule_bytes, or none. find_ready() looks
  // only at what is free already; find() does what it takes, down to waiting for other streams.
  virtual SegmentId find_ready(std::uint64_t bytes, StreamId stream) = 0;
  virtual SegmentId find(std::uint64_t bytes, StreamId stream) = 0;
  // Like find(), for memory whose addresses somebody remembers: it takes more from the device, and
  // moves, gives back and waits for nothing.
  virtual SegmentId find_new(std::uint64_t bytes, StreamId stream) = 0;
  virtual void release(SegmentId used) = 0;

  // What the stream freed may now go to every stream.
  virtual void publish(StreamId stream) = 0;

  // As Tiling::carve_up.
  virtual std::vector<SegmentId> carve_up(SegmentId block,
                                          const std::vector<Tiling::Piece>& pieces) = 0;

  // Whether what carve_up() leaves free is as good as any free memory: pages are, parts of a plain
  // allocation are not.
  virtual bool breaks_up_well() const = 0;

  // A plan is for blocks of at least this size: smaller ones cost the core nothing.
  virtual std::uint64_t least_planned_bytes() const { return 0; }

  // Gives what is wholly free to the pool, or to the device, until `bytes` are there or nothing is
  // left to give; how much it gave. Waits for the streams whose work may still use it.
  virtual std::uint64_t give_up(std::uint64_t bytes) = 0;

  virtual const std::vector<const Tiling*>& tilings() const = 0;
  virtual void listen(const Tiling::RangeListener& listener) = 0;
  virtual std::string broken_invariant() const = 0;

  // A block in a planned piece: a segment that no tiling knows.
  SegmentId add_planned(std::uint64_t address, std::uint64_t bytes, std::uint32_t slot) {
    Segment segment;
    segment.address = address;
    segment.bytes = bytes;
    segment.range = slot;
    segment.heap = planned_heap;
    segment.state = SegmentState::used;
    return segments_.create(segment);
  }
  void drop_planned(SegmentId id) { segments_.destroy(id); }

  Segment& segment(SegmentId id) { return segments_[id]; }
  const Segment& segment(SegmentId id) const { return segments_[id]; }
  const MissCounts& counts() const { return counts_; }

 protected:
  // More streams than any program uses. Beyond it a core waits for them rather than keep an index
  // of free blocks for each, which every search would go through.
  static constexpr std::size_t max_private_streams = 64;

  // To be called where a stream may have got free segments of its own: keeps to that limit as far
  // as streams can be waited for.
  void limit_private_streams(Tiling& tiling, DevicePool& pool);

  SegmentTable segments_;
  MissCounts counts_;
};

}  // namespace headroom::allocator
