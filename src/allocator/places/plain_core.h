// SPDX-License-Identifier: Apache-2.0
// The core without virtual memory. It packs blocks by best fit while memory is plenty, which takes
// the fewest calls and holds the least. Where it may become short, a large block is a plain
// allocation of its own, rounded to 2 MiB and never split, so that it can always go back to the
// device whole; blocks that would waste too much that way share allocations of 32 MiB, and weights
// of a size that repeats, which come before anything large is freed, allocations of a few of them.
// When the device refuses, idle allocations go back until it grants the request (a flush). Packing
// alone would keep holes that nothing can close: on traces of jobs with activation checkpointing it
// needs up to 25 % more than is live. docs/decisions/0018-plenty-without-virtual-memory.md says
// when memory is plenty.
#pragma once

#include <array>
#include <cstdint>
#include <map>
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
  bool is_at_ease() const override { return is_at_ease_; }
  void note_iteration() override;
  std::uint64_t least_planned_bytes() const override;
  std::uint64_t give_up(std::uint64_t bytes) override;
  const std::vector<const Tiling*>& tilings() const override { return tilings_; }
  void listen(const Tiling::RangeListener& listener) override;
  std::string broken_invariant() const override;

 private:
  enum Kind : std::uint8_t { small, medium, own, shared };
  static constexpr std::size_t kinds = 4;

  Kind kind_of(std::uint64_t bytes) const;
  bool shares(std::uint64_t bytes) const;
  SegmentId carve(PlainHeap& heap, SegmentId free, std::uint64_t bytes);
  SegmentId take_ready(Kind kind, std::uint64_t bytes, StreamId stream);
  SegmentId take_new(Kind kind, std::uint64_t bytes, StreamId stream);
  SegmentId take_anywhere(std::uint64_t bytes, StreamId stream);
  static bool fits(Kind kind, std::uint64_t free_bytes, std::uint64_t bytes);
  bool is_plenty(std::uint64_t bytes) const;
  void end_ease();
  void end_loading();
  void note_peak(std::uint64_t bytes);
  SegmentId limit_idle(std::uint64_t bytes, StreamId stream);
  std::uint64_t flush(std::uint64_t bytes);
  void wait_for_streams();

  DevicePool* pool_;
  std::array<PlainHeap, kinds> heaps_;
  std::vector<const Tiling*> tilings_;
  std::array<std::uint64_t, kinds> used_{};  // Bytes in use in each heap.
  bool is_loading_ = true;  // No large block was freed yet: what comes is likely to stay.
  std::map<std::uint64_t, std::uint64_t> loaded_;  // Large blocks since then, by their bytes.
  bool is_at_ease_ = true;       // Blocks above small_bytes are packed in shared allocations.
  bool is_modest_ = false;       // It is at ease because of what its iterations used.
  bool is_deceived_ = false;     // The device refused although the capacity was far away.
  std::uint64_t borders_ = 0;    // Iterations since it was last at ease.
  std::uint64_t own_peak_ = 0;   // The most bytes that heaps_[own] had in use at any miss.
  std::uint64_t used_peak_ = 0;  // The same for all blocks.
};

}  // namespace headroom::allocator
