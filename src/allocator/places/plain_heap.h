// SPDX-License-Identifier: Apache-2.0
// A tiling over plain allocations of the device: each is a range of its own, and goes back to the
// device when all of it is free and somebody needs the memory. Not thread-safe: whoever owns it
// protects it.
#pragma once

#include <cstdint>

#include "allocator/places/device_pool.h"
#include "allocator/places/tiling.h"

namespace headroom::allocator {

class PlainHeap final : public Tiling {
 public:
  // `number` marks the heap's segments. The table and the pool outlive it.
  PlainHeap(std::uint8_t number, SegmentTable& segments, DevicePool& pool)
      : Tiling(number, segments, false), pool_(&pool) {}

  // A free segment, all of a new allocation for a request of the stream; none if the device
  // refuses. `bytes` is a multiple of page_bytes.
  SegmentId add(std::uint64_t bytes, StreamId stream);

  // The whole allocation that the segment lies in is free, and no work can touch it any more.
  bool is_idle(SegmentId id) const;
  // Gives an idle one back; how much that was, 0 if the device refused.
  std::uint64_t release_range(SegmentId idle);
  // The idle allocation that is nearest to `bytes` from above, else the largest; none if there is
  // none.
  SegmentId idle_for(std::uint64_t bytes) const;

  // Gives everything back, used or not: for the end of the allocator.
  void release_all();

 private:
  DevicePool* pool_;
};

}  // namespace headroom::allocator
