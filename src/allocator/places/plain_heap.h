// SPDX-License-Identifier: Apache-2.0
// A tiling over plain allocations of the device. Each allocation is a range of its own, and goes
// back to the device when all of it is free and the memory is needed elsewhere. Not thread-safe:
// the owner protects it.
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

  // Takes a new allocation for a request of the stream and returns it as one free segment, or
  // no_segment if the device refuses. `bytes` is a multiple of page_bytes.
  SegmentId add(std::uint64_t bytes, StreamId stream);

  // Whether the whole allocation that the segment lies in is free, and no queued work can touch it
  // any more.
  bool is_idle(SegmentId id) const;
  // Gives an idle allocation back to the device; returns its bytes, or 0 if the device refused.
  std::uint64_t release_range(SegmentId idle);
  // The smallest idle allocation of at least `bytes`, else the largest one; no_segment if none is
  // idle.
  SegmentId idle_for(std::uint64_t bytes) const;

  // Gives everything back, used or not, at the end of the allocator.
  void release_all();

 private:
  DevicePool* pool_;
};

}  // namespace headroom::allocator
