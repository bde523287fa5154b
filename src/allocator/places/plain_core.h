// SPDX-License-Identifier: Apache-2.0
// The core without virtual memory. A large block is a plain allocation of its own, rounded to 2 MiB
// and never split, so that it can always go back to the device whole; blocks that would waste too
// much that way are packed into shared allocations by best fit. When the device refuses, idle
// allocations go back until it grants the request (a flush). A single large slab would keep holes
// that nothing can close: on traces of jobs with activation checkpointing it needs up to 25 % more
// than is live.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "allocator/places/core.h"
#include "allocator/places/device_pool.h"
#include "allocator/places/plain_heap.h"

namespace headroom::allocator {

class PlainCore final : public Core {
 public:
  // `pool` outlives the core.
  explicit PlainCore(DevicePool& pool);
  ~PlainCore() override;

  SegmentId find_ready(std::uint64_t bytes, StreamId stream) override;
  SegmentId find(std::uint64_t bytes, StreamId stream) override;
  SegmentId find_new(std::uint64_t bytes, StreamId stream) override;
  void release(SegmentId used) override;
  void publish(StreamId stream) override;
  std::vector<SegmentId> carve_up(SegmentId block,
                                  const std::vector<Tiling::Piece>& pieces) override;
  bool breaks_up_well() const override { return false; }
  std::uint64_t least_planned_bytes() const override;
  std::uint64_t give_up(std::uint64_t bytes) override;
  const std::vector<const Tiling*>& tilings() const override { return tilings_; }
  void listen(const Tiling::RangeListener& listener) override;
  std::string broken_invariant() const override;

 private:
  enum Kind : std::uint8_t { small, medium, own };
  static constexpr std::size_t kinds = 3;

  static Kind kind_of(std::uint64_t bytes);
  SegmentId take_ready(Kind kind, std::uint64_t bytes, StreamId stream);
  SegmentId take_new(Kind kind, std::uint64_t bytes, StreamId stream);
  SegmentId take_anywhere(std::uint64_t bytes, StreamId stream);
  void limit_idle(std::uint64_t bytes);
  std::uint64_t flush(std::uint64_t bytes);
  void wait_for_streams();

  DevicePool* pool_;
  std::array<PlainHeap, kinds> heaps_;
  std::vector<const Tiling*> tilings_;
  std::uint64_t used_peak_ = 0;  // The most bytes that large blocks had in use at any miss.
};

}  // namespace headroom::allocator
