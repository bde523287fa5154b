// SPDX-License-Identifier: Apache-2.0
// The core for virtual memory. It packs blocks of 512-byte granules by best fit into an address
// space far larger than memory, and maps 2 MiB pages behind them on demand, up to a hard capacity.
// If a request cannot be met otherwise, it takes whole free pages from wherever they lie and maps
// them to one contiguous place (a repair). So free memory is usable memory, however scattered it
// is. docs/decisions/0002-allocator-core.md says why.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "allocator/places/core.h"
#include "allocator/places/device_pool.h"
#include "allocator/places/heap.h"

namespace headroom::allocator {

class PagedCore final : public Core {
 public:
  // `pages` outlives the core. The first address range has `address_range_bytes`, each further one
  // twice as many as the one before.
  PagedCore(DevicePool& pages, std::uint64_t address_range_bytes);
  ~PagedCore() override;

  SegmentId find_ready(std::uint64_t bytes, StreamId stream) override;
  SegmentId find(std::uint64_t bytes, StreamId stream) override;
  SegmentId find_new(std::uint64_t bytes, StreamId stream) override;
  void release(SegmentId used) override;
  void publish(StreamId stream) override;
  std::vector<SegmentId> carve_up(SegmentId block,
                                  const std::vector<Tiling::Piece>& pieces) override;
  bool breaks_up_well() const override { return true; }
  std::uint64_t pages_to_move(std::uint64_t bytes, StreamId stream) override;
  std::uint64_t give_up(std::uint64_t bytes) override;
  const std::vector<const Tiling*>& tilings() const override { return tilings_; }
  void listen(const Tiling::RangeListener& listener) override;
  std::string broken_invariant() const override;

 private:
  SegmentId take_from(Heap& heap, std::uint64_t bytes, StreamId stream);
  SegmentId take_on_pages(Heap& heap, SegmentId free, std::uint64_t bytes, StreamId stream);
  SegmentId grow(Heap& heap, std::uint64_t bytes, StreamId stream);
  SegmentId repair(Heap& heap, std::uint64_t bytes, StreamId stream);
  bool collect_pages(const Window& window);
  bool wait_for_other_streams(StreamId stream);
  std::uint64_t movable_pages(StreamId stream) const;
  Heap& heap_of(SegmentId id) { return segments_[id].heap == small_heap ? small_ : large_; }
  Heap& home(std::uint64_t bytes) { return bytes <= small_bytes ? small_ : large_; }
  Heap& other(std::uint64_t bytes) { return bytes <= small_bytes ? large_ : small_; }

  static constexpr std::uint8_t small_heap = 0;
  static constexpr std::uint8_t large_heap = 1;
  // Blocks up to this size have an address range of their own, so that they do not pin pages
  // between large blocks.
  static constexpr std::uint64_t small_bytes = std::uint64_t{1} << 18U;

  DevicePool* pages_;
  Heap small_;
  Heap large_;
  bool is_scattered_ = false;  // Free memory lay in pieces when the core last grew.
  bool is_plenty_ = false;     // Hardly any of the capacity is held, as far as growths told.
  std::vector<const Tiling*> tilings_;
};

}  // namespace headroom::allocator
