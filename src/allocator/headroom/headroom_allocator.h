// SPDX-License-Identifier: Apache-2.0
// headroom's own policy: a hard capacity, and free memory that is usable memory. With virtual
// memory free pages are remapped where a request needs them (PagedCore); without, large blocks are
// plain allocations that come and go (PlainCore); where the job repeats, every block has a planned
// place (Planner). docs/decisions/0002-allocator-core.md says why.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "allocator/forensics/out_of_memory.h"
#include "allocator/headroom/address_directory.h"
#include "allocator/headroom/live_peak.h"
#include "allocator/headroom/shard.h"
#include "allocator/places/device_pool.h"
#include "allocator/policy.h"
#include "base/mutex.h"

namespace headroom::allocator {

// Streams. A block freed on stream A is reused on A at once, because A's work runs in order. Other
// streams get it after synchronize(A), or when A has nothing queued any more, or, before a request
// fails, after the allocator itself has waited for A through the backend. Pages that queued work
// may still use are unmapped only after such a wait.
//
// Threads. Every function may be called from any thread at any time. Each stream's blocks are
// behind a lock of their own (streams beyond the 15th share them), so threads that keep to
// different streams do not wait for each other; a free that finds the lock taken is left to who
// takes it next. Requests that free memory does not meet are met one after the other.
//
// Processes. A forked child does not have this memory: allocate() gives it nothing, frees are
// ignored, and no lock is taken, since a thread that the child does not have may have held it.
//
// usage() refers to one value per allocator, brought up to date by the call: read it where no other
// thread calls it, or take a usage_snapshot().
class HeadroomAllocator final : public Policy {
 public:
  struct Options {
    // At first, then doubling. Costs nothing until used; enough for what the largest GPUs hold.
    std::uint64_t address_range_bytes = std::uint64_t{64} << 30U;
    // False: do without, even where the backend has it.
    bool virtual_memory = true;
    // Whether repeating iterations get a plan, and who computes it (nobody: the allocating thread,
    // at the iteration's border).
    bool planning = true;
    Executor executor = {};
    // Shared with other processes, and asked before anything is taken from the device; may be null.
    // Outlives the allocator.
    Budget* budget = nullptr;
    // Of the requests, for reports; may be null. Outlives the allocator.
    const NameTable* names = nullptr;
    // Where each shard's events go; null: nowhere. Called once per shard, from the first on.
    std::function<FlightShard*(std::uint32_t shard)> recorder = {};
    // Where it notes what is taken from the device and given back; may be null. Nobody else writes
    // to it, and it outlives the allocator.
    FlightShard* device_recorder = nullptr;
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
  const Usage& usage() const override;
  std::string_view name() const override { return name_; }

  // The block is used by that stream as well: after its free, its memory is reused only when what
  // that stream had queued by then is done.
  void record_stream(Address address, StreamId stream);

  // Between the two, what `stream` allocates comes from memory that belongs to the pool alone and
  // goes back to it alone: a captured graph uses the same addresses each time it runs, so nothing
  // of the pool is moved or given up. Nothing asks or waits for the stream meanwhile. A pool can be
  // used again, and by several streams at once: begin_pool() for each, end_pool() for all.
  // release_pool() gives it up, and what still lives in it goes back as it is freed.
  //
  // begin_pool() fails where as many pools are in use as there can be, the other two where there is
  // no such pool: it was never begun, or is released already. end_pool() of one that nobody fills
  // changes nothing.
  using PoolId = std::uint64_t;
  Status begin_pool(PoolId pool, StreamId stream);
  Status end_pool(PoolId pool);
  Status release_pool(PoolId pool);

  // Gives the device what is wholly free; how much that was. What a plan or a graph's pool holds
  // stays. Waits for streams.
  std::uint64_t trim();
  // What is held beyond a smaller capacity goes back: at once where it is wholly free, for which
  // plans are broken up, and later as it becomes so and somebody looks for memory, or trims. Until
  // then nothing new is taken.
  void set_capacity(std::uint64_t bytes);

  // The device's own handle of a stream: before the stream is used. Backend::bind_stream().
  void bind_stream(StreamId stream, std::uintptr_t native) { pool_.bind_stream(stream, native); }
  // As free(), of a block that these streams used as well: record_stream() for each, and the free.
  // False, and nothing happens, if the address is no live block. Waits for the lock, where free()
  // may leave the block to whoever holds it.
  bool free_after(Address address, std::span<const StreamId> streams);
  struct Block {
    Address address = 0;
    std::uint64_t bytes = 0;
  };
  // The live block that the address lies in.
  std::optional<Block> block_around(Address address) const;

  Usage usage_snapshot() const;
  // From now on peaks are of what is live and reserved now, and of what comes.
  void reset_peaks();
  std::uint64_t capacity_bytes() const { return pool_.capacity_bytes(); }
  MissCounts miss_counts() const;
  PlanCounts plan_counts() const;
  // The size that a live block has after rounding; nothing for an address that is not live.
  std::optional<std::uint64_t> block_bytes(Address address) const;

  // What the device said when it last refused a call, if it ever did.
  std::optional<Error> device_refusal() const { return pool_.last_error(); }

  // Everything that is known of this moment. Takes every lock, one after the other, and asks the
  // driver once what the device has free.
  HeapView view(const Request& request) const;
  // Why a request fails, as things are now: ask right after allocate() returned nothing.
  OutOfMemory explain(const Request& request) const;

  // Everything that must hold between calls, of a program whose other threads are quiet; empty if
  // it does, else what does not. For tests: it walks all metadata.
  std::string broken_invariant() const;

 private:
  static constexpr std::size_t max_shards = 64;
  static constexpr std::size_t stream_shards = 16;

  struct GraphPool {
    PoolId id = 0;
    std::size_t shard = 0;
    std::vector<StreamId> streams;  // While it is being filled.
  };

  std::size_t number_for(StreamId stream) const;
  Shard& shard(std::size_t number);
  Shard* existing(std::size_t number) const {
    return shards_[number].load(std::memory_order_acquire);
  }
  Shard& create_shard(std::size_t number);
  bool is_alone() const { return shards_end_.load(std::memory_order_acquire) == 1; }
  Result<std::size_t> pool_shard(PoolId pool) HEADROOM_REQUIRES(creation_mutex_);
  void note_captured_streams() HEADROOM_REQUIRES(creation_mutex_);
  Result<std::size_t> stop_filling(PoolId pool);
  // Calls visit(number, Shard&), the shard locked and its inbox empty, until one says true; whether
  // one did. Those of graph pools only where asked for.
  template <class Visit>
  bool any_shard(bool with_pools, Visit&& visit) const;
  // The same, the owner of the address first.
  template <class Visit>
  bool at_owner(Address address, Visit&& visit) const;

  std::optional<Address> on_miss(std::size_t own, const Request& request, std::uint64_t bytes);
  std::optional<Address> borrow(std::size_t own, const Request& request, std::uint64_t bytes)
      HEADROOM_REQUIRES(miss_mutex_);
  std::optional<Address> try_hard(std::size_t own, const Request& request, std::uint64_t bytes,
                                  Shard::Plan plan) HEADROOM_REQUIRES(miss_mutex_);
  // Notes that the request of `bytes`, as rounded, was not met.
  static std::optional<Address> refuse(Shard& own, const Request& request, std::uint64_t bytes);
  bool collect(std::size_t own, std::uint64_t bytes, Shard::Plan plan)
      HEADROOM_REQUIRES(miss_mutex_);
  void drain(Shard& shard) const HEADROOM_REQUIRES(shard.mutex());
  void note_peak(std::size_t number, const Shard& shard) const HEADROOM_REQUIRES(shard.mutex());

  std::unique_ptr<Backend> owned_backend_;
  DevicePool pool_;
  Options options_;
  std::string_view name_;
  std::array<std::atomic<Shard*>, max_shards> shards_{};
  mutable Mutex creation_mutex_;  // Taken before a shard's; who writes to shards_ holds it as well.
  std::vector<std::unique_ptr<Shard>> owned_shards_ HEADROOM_GUARDED_BY(creation_mutex_);
  std::atomic<std::size_t> shards_end_ = 0;  // All shards have smaller numbers.
  Mutex miss_mutex_;                         // Taken before any shard's.
  std::vector<GraphPool> graph_pools_ HEADROOM_GUARDED_BY(creation_mutex_);
  std::atomic<bool> is_filling_pools_ = false;
  mutable AddressDirectory directory_;
  mutable LivePeak peak_;
  mutable std::atomic<std::uint64_t> foreign_frees_ = 0;
  mutable Mutex usage_mutex_;
  mutable Usage usage_ HEADROOM_GUARDED_BY(usage_mutex_);
};

}  // namespace headroom::allocator
