// SPDX-License-Identifier: Apache-2.0
// headroom's own policy. Blocks of 512-byte granules are packed by best fit into addresses that are
// far larger than memory; 2 MiB pages are mapped behind them on demand, up to a hard capacity. Only
// when a request cannot be met otherwise are whole free pages taken from wherever they lie and
// mapped to one contiguous place (a repair), so free memory is usable memory whatever its shape.
// docs/decisions/0002-allocator-core.md says why.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "allocator/address_map.h"
#include "allocator/heap.h"
#include "allocator/out_of_memory.h"
#include "allocator/page_pool.h"
#include "allocator/policy.h"
#include "allocator/segment.h"
#include "allocator/usage_tracker.h"

namespace headroom::allocator {

// What an allocator does on a miss, counted since its birth.
struct MissCounts {
  std::uint64_t growths = 0;        // Spare pages were mapped.
  std::uint64_t repairs = 0;        // Free pages were moved.
  std::uint64_t moved_pages = 0;    // By repairs.
  std::uint64_t waits = 0;          // For other streams, because nothing else was left.
  std::uint64_t foreign_frees = 0;  // free() or retag() of an address that is not live: ignored.
};

// Streams. A block freed on stream A is reused on A at once, because A's work runs in order. Other
// streams get it after synchronize(A), or, before a request fails, after the allocator itself has
// waited for A through the backend. Pages that queued work may still use are unmapped only after
// such a wait.
//
// Threads. Every function may be called from any thread at any time; one mutex protects all. What
// usage() refers to changes under that mutex: read it where no other thread allocates, or take a
// usage_snapshot().
class HeadroomAllocator final : public Policy {
 public:
  struct Options {
    // At first, then doubling. Costs nothing until used; enough for what the largest GPUs hold.
    std::uint64_t address_range_bytes = std::uint64_t{64} << 30U;
  };

  // The capacity is rounded down to whole pages. `backend` outlives the allocator and is used by
  // nobody else at the same time. When the allocator is destroyed its pages go back to the backend,
  // live blocks included.
  HeadroomAllocator(Backend& backend, std::uint64_t capacity_bytes, Options options);
  HeadroomAllocator(Backend& backend, std::uint64_t capacity_bytes)
      : HeadroomAllocator(backend, capacity_bytes, Options{}) {}
  HeadroomAllocator(std::unique_ptr<Backend> backend, std::uint64_t capacity_bytes);
  ~HeadroomAllocator() override;

  // Blocks start at multiples of 512 bytes.
  std::optional<Address> allocate(const Request& request) override;
  void free(Address address) override;
  void retag(Address address, Component tag) override;
  void synchronize(StreamId stream) override;
  const Usage& usage() const override { return tracker_.usage(); }
  std::string_view name() const override { return "headroom"; }

  Usage usage_snapshot() const;
  std::uint64_t capacity_bytes() const;
  MissCounts miss_counts() const;
  // The size that a live block has after rounding; nothing for an address that is not live.
  std::optional<std::uint64_t> block_bytes(Address address) const;

  // Why a request fails, as things are now: ask right after allocate() returned nothing.
  OutOfMemory explain(const Request& request) const;

  // Everything that must hold between calls; empty if it does, else what does not. For tests: it
  // walks all metadata.
  std::string broken_invariant() const;

 private:
  SegmentId find_block(std::uint64_t bytes, StreamId stream);
  SegmentId find_block_on_miss(std::uint64_t bytes, StreamId stream);
  SegmentId take_from(Heap& heap, std::uint64_t bytes, StreamId stream);
  SegmentId grow(Heap& heap, std::uint64_t bytes, StreamId stream);
  SegmentId repair(Heap& heap, std::uint64_t bytes, StreamId stream);
  bool collect_pages(const Window& window);
  bool wait_for_other_streams(StreamId stream);
  void limit_private_streams(Heap& heap);
  void publish(StreamId stream);
  std::uint64_t movable_pages(StreamId stream) const;
  void note_pages();
  Heap& heap_of(SegmentId id) { return segments_[id].heap == small_heap ? small_ : large_; }
  Heap& home(std::uint64_t bytes) { return bytes <= small_bytes ? small_ : large_; }
  Heap& other(std::uint64_t bytes) { return bytes <= small_bytes ? large_ : small_; }

  static constexpr std::uint8_t small_heap = 0;
  static constexpr std::uint8_t large_heap = 1;
  // Blocks up to this size live in addresses of their own, so that they do not pin pages between
  // large ones.
  static constexpr std::uint64_t small_bytes = std::uint64_t{1} << 18U;

  std::unique_ptr<Backend> owned_backend_;
  mutable std::mutex mutex_;
  SegmentTable segments_;
  PagePool pages_;
  Heap small_;
  Heap large_;
  AddressMap blocks_;
  UsageTracker tracker_;
  MissCounts counts_;
};

}  // namespace headroom::allocator
