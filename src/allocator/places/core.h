// SPDX-License-Identifier: Apache-2.0
// A core finds places for blocks: on pages that it maps where they are needed (PagedCore), or in
// plain allocations that it takes and gives back (PlainCore). A core knows sizes, streams and
// places; the addresses that programs hold, tags and plans are its owner's business.
//
// Not thread-safe: its owner's lock protects it. The DevicePool that cores share protects itself.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "allocator/places/device_pool.h"
#include "allocator/places/tiling.h"

namespace headroom::allocator {

// How often each of these happened since the core was created. All but the last happen on a miss: a
// request that free memory cannot meet at once.
struct MissCounts {
  std::uint64_t growths = 0;        // Memory was taken from the device.
  std::uint64_t repairs = 0;        // Free pages were moved.
  std::uint64_t moved_pages = 0;    // Pages that repairs moved.
  std::uint64_t flushes = 0;        // Idle plain allocations went back to the device.
  std::uint64_t waits = 0;          // Waits for other streams, because nothing else was left.
  std::uint64_t foreign_frees = 0;  // free() or retag() of an address that is not live: ignored.
};

class Core {
 public:
  virtual ~Core() = default;

  // Return a used segment of exactly `bytes`, a multiple of granule_bytes, or no_segment.
  // find_ready() looks only at memory that is free already; find() does whatever it takes, down to
  // waiting for other streams.
  virtual SegmentId find_ready(std::uint64_t bytes, StreamId stream) = 0;
  virtual SegmentId find(std::uint64_t bytes, StreamId stream) = 0;
  // Like find(), for memory whose addresses a captured graph remembers: it may take more from the
  // device, but never moves memory, gives memory back or waits.
  virtual SegmentId find_new(std::uint64_t bytes, StreamId stream) = 0;
  virtual void release(SegmentId used) = 0;

  // From now on every stream may reuse what this stream freed.
  virtual void publish(StreamId stream) = 0;

  // See Tiling::carve_up().
  virtual std::vector<SegmentId> carve_up(SegmentId block,
                                          const std::vector<Tiling::Piece>& pieces) = 0;

  // Whether what carve_up() leaves free is as useful as any other free memory. Pages are; parts of
  // a plain allocation are not.
  virtual bool breaks_up_well() const = 0;

  // Returns how many free pages find() would have to move for such a block now; 0 where nothing
  // moves.
  virtual std::uint64_t pages_to_move(std::uint64_t /*bytes*/, StreamId /*stream*/) { return 0; }

  // Whether memory is so plenty that a plan would only hold more of it.
  virtual bool is_at_ease() const { return false; }
  // Is called where an iteration ends. The core may give memory back then.
  virtual void note_iteration() {}

  // Plans leave out blocks below this size, because they cost the core nothing.
  virtual std::uint64_t least_planned_bytes() const { return 0; }

  // Gives wholly free pages or allocations to the pool, or to the device, until it gave `bytes` or
  // has no more; returns how much it gave. Waits for the streams whose work may still use them.
  virtual std::uint64_t give_up(std::uint64_t bytes) = 0;

  virtual const std::vector<const Tiling*>& tilings() const = 0;
  virtual void listen(const Tiling::RangeListener& listener) = 0;
  virtual std::string broken_invariant() const = 0;

  // Adds a block in a planned piece, as a segment that belongs to no tiling.
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
  // More streams than real programs use. Above this limit a core waits for streams instead of
  // keeping an index of free blocks for each, all of which every search would go through.
  static constexpr std::size_t max_private_streams = 64;

  // Keeps to max_private_streams as far as streams can be waited for. Is called whenever a stream
  // may have got free segments of its own.
  void limit_private_streams(Tiling& tiling, DevicePool& pool);

  SegmentTable segments_;
  MissCounts counts_;
};

}  // namespace headroom::allocator
