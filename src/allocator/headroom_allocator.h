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
#include <string_view>
#include <utility>

#include "allocator/address_map.h"
#include "allocator/core.h"
#include "allocator/device_pool.h"
#include "allocator/out_of_memory.h"
#include "allocator/policy.h"
#include "allocator/usage_tracker.h"

namespace headroom::allocator {

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
    // False: do without, even where the backend has it.
    bool virtual_memory = true;
  };

  // The capacity is rounded down to whole pages. `backend` outlives the allocator and is used by
  // nobody else at the same time. When the allocator is destroyed its pages go back to the backend,
  // live blocks included.
  HeadroomAllocator(Backend& backend, std::uint64_t capacity_bytes, Options options);
  HeadroomAllocator(Backend& backend, std::uint64_t capacity_bytes)
      : HeadroomAllocator(backend, capacity_bytes, Options{}) {}
  HeadroomAllocator(std::unique_ptr<Backend> backend, std::uint64_t capacity_bytes,
                    Options options);
  HeadroomAllocator(std::unique_ptr<Backend> backend, std::uint64_t capacity_bytes)
      : HeadroomAllocator(std::move(backend), capacity_bytes, Options{}) {}
  ~HeadroomAllocator() override;

  // Blocks start at multiples of 512 bytes.
  std::optional<Address> allocate(const Request& request) override;
  void free(Address address) override;
  void retag(Address address, Component tag) override;
  void synchronize(StreamId stream) override;
  const Usage& usage() const override { return tracker_.usage(); }
  std::string_view name() const override { return name_; }

  Usage usage_snapshot() const;
  std::uint64_t capacity_bytes() const { return pool_.capacity_bytes(); }
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

  std::unique_ptr<Backend> owned_backend_;
  mutable std::mutex mutex_;
  DevicePool pool_;
  std::unique_ptr<Core> core_;
  std::string_view name_;
  AddressMap blocks_;
  UsageTracker tracker_;
  std::uint64_t foreign_frees_ = 0;
};

}  // namespace headroom::allocator
