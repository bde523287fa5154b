// SPDX-License-Identifier: Apache-2.0
// headroom's own policy: it keeps to a hard capacity, and free memory is usable memory. With
// virtual memory, free pages are remapped where a request needs them (PagedCore); without it, large
// blocks are plain allocations that are taken and given back (PlainCore). If the job repeats, every
// block has a planned place (Planner). docs/decisions/0002-allocator-core.md says why.
#pragma once

#include <algorithm>
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
// streams get it after synchronize(A), or when A has nothing queued any more, or after the
// allocator itself has waited for A through the backend, which it does before a request fails.
// Pages that queued work may still use are unmapped only after such a wait.
//
// Threads. Every function may be called from any thread at any time. Each stream's blocks have a
// lock of their own (streams beyond the 15th share one of these), so threads that keep to different
// streams do not wait for each other. A free that finds the lock taken is left for the next thread
// that takes the lock. Requests that free memory cannot meet are served one after the other.
//
// Processes. A forked child does not have this memory: there allocate() returns nothing, frees are
// ignored, and no lock is taken, since a thread that does not exist in the child may have held it.
//
// usage() refers to one value per allocator, brought up to date by the call: read it where no other
// thread calls it, or take a usage_snapshot().
class HeadroomAllocator final : public Policy {
 public:
  struct Options {
    // The size of the first address range; each further range is twice as large. Addresses cost
    // nothing until they are used, and this is enough for the largest GPUs.
    std::uint64_t address_range_bytes = std::uint64_t{64} << 30U;
    // If false, virtual memory is not used even if the backend has it.
    bool virtual_memory = true;
    // Whether repeating iterations get a plan, and who computes it: the executor or, if it is
    // empty, the allocating thread between two iterations.
    bool planning = true;
    Executor executor = {};
    // The budget shared with other processes, which is asked before anything is taken from the
    // device; may be null. Outlives the allocator.
    Budget* budget = nullptr;
    // The names of the requests, for reports; may be null. Outlives the allocator.
    const NameTable* names = nullptr;
    // Returns the ring for a shard's events, or null to record none. Is called once for each shard,
    // when the shard is created.
    std::function<FlightShard*(std::uint32_t shard)> recorder = {};
    // The ring for what is taken from the device and given back; may be null. Nobody else writes to
    // it, and it outlives the allocator.
    FlightShard* device_recorder = nullptr;
  };

  // The capacity is rounded down to whole pages. `backend` outlives the allocator and is used by
  // nobody else at the same time. When the allocator is destroyed, all its memory goes back to the
  // backend, including live blocks.
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

  // Tells the allocator that this stream uses the block as well. After the block's free, its memory
  // is reused only when everything is done that the stream had queued by then.
  void record_stream(Address address, StreamId stream);

  // Pools for captured graphs. Between begin_pool() and end_pool(), blocks for `stream` come from
  // memory that belongs to the pool alone, and go back to it alone. A captured graph uses the same
  // addresses each time it runs, so nothing of the pool is moved or given up. Meanwhile the
  // allocator neither asks about the stream nor waits for it. A pool can be filled again, and by
  // several streams at once: each needs a begin_pool(), and one end_pool() ends all. release_pool()
  // gives the pool up; what still lives in it goes back when it is freed.
  //
  // begin_pool() fails if the limit of pools is reached; the other two fail if the pool was never
  // begun or is released already. end_pool() of a pool that is not being filled changes nothing.
  using PoolId = std::uint64_t;
  Status begin_pool(PoolId pool, StreamId stream);
  Status end_pool(PoolId pool);
  Status release_pool(PoolId pool);

  // Gives wholly free pages and allocations back to the device; returns how many bytes. What a plan
  // or a graph's pool holds stays. Waits for streams.
  std::uint64_t trim();
  // Memory held beyond a smaller capacity goes back to the device: what is wholly free goes at
  // once, for which plans are broken up, and the rest when it is free and a request looks for
  // memory or trim() is called. Until then nothing new is taken.
  void set_capacity(std::uint64_t bytes);

  // See Backend::bind_stream(). Is called before the stream is used.
  void bind_stream(StreamId stream, std::uintptr_t native) { pool_.bind_stream(stream, native); }
  // Does record_stream() for each of these streams and then free(). Returns false and does nothing
  // if the address is no live block. Waits for the lock, unlike free(), which may leave the block
  // to whoever holds the lock.
  bool free_after(Address address, std::span<const StreamId> streams);
  struct Block {
    Address address = 0;
    std::uint64_t bytes = 0;
  };
  // The live block that contains the address.
  std::optional<Block> block_around(Address address) const;

  Usage usage_snapshot() const;
  // Sets the peaks to what is live and reserved now.
  void reset_peaks();
  std::uint64_t capacity_bytes() const { return pool_.capacity_bytes(); }
  MissCounts miss_counts() const;
  PlanCounts plan_counts() const;
  // The rounded size of a live block; nothing for an address that is not live.
  std::optional<std::uint64_t> block_bytes(Address address) const;

  // The device's last refusal that still stands; see DevicePool::last_error().
  std::optional<Error> device_refusal() const { return pool_.last_error(); }

  // The whole state at this moment. Takes every lock, one after the other, and asks the driver once
  // how much memory the device has free.
  HeapView view(const Request& request) const;
  // Explains why the request would fail now; is called right after allocate() returned nothing.
  OutOfMemory explain(const Request& request) const;

  // For tests: checks everything that must hold between calls, while no other thread calls the
  // allocator. Returns what does not hold, or an empty text. Goes through all metadata.
  std::string broken_invariant() const;

 private:
  static constexpr std::size_t max_shards = 64;
  static constexpr std::size_t stream_shards = 16;

  struct GraphPool {
    PoolId id = 0;
    std::size_t shard = 0;
    std::vector<StreamId> streams;  // Those that fill it now.
  };

  std::size_t number_for(StreamId stream) const {
    if (is_filling_pools_.load(std::memory_order_acquire)) return number_while_filling(stream);
    return std::min<std::size_t>(stream, stream_shards - 1);
  }
  std::size_t number_while_filling(StreamId stream) const;
  Shard& shard(std::size_t number);
  Shard* existing(std::size_t number) const {
    return shards_[number].load(std::memory_order_acquire);
  }
  Shard& create_shard(std::size_t number);
  bool is_alone() const { return shards_end_.load(std::memory_order_acquire) == 1; }
  Result<std::size_t> pool_shard(PoolId pool) HEADROOM_REQUIRES(creation_mutex_);
  void note_captured_streams() HEADROOM_REQUIRES(creation_mutex_);
  Result<std::size_t> stop_filling(PoolId pool);
  // Calls visit(number, Shard&) for shard after shard, locked and with an empty inbox, until one
  // call returns true; returns whether one did. Visits the shards of graph pools only if
  // `with_pools`.
  template <class Visit>
  bool any_shard(bool with_pools, Visit&& visit) const;
  // The same, beginning with the address's owner.
  template <class Visit>
  bool at_owner(Address address, Visit&& visit) const;

  // These return no_address if they find no place; refuse() always does.
  Address find(const Request& request);
  Address on_miss(std::size_t own, const Request& request, std::uint64_t bytes);
  Address borrow(std::size_t own, const Request& request, std::uint64_t bytes)
      HEADROOM_REQUIRES(miss_mutex_);
  Address try_hard(std::size_t own, const Request& request, std::uint64_t bytes, Shard::Plan plan)
      HEADROOM_REQUIRES(miss_mutex_);
  // Notes that the request, rounded to `bytes`, was not met.
  static Address refuse(Shard& own, const Request& request, std::uint64_t bytes);
  bool collect(std::size_t own, std::uint64_t bytes, Shard::Plan plan)
      HEADROOM_REQUIRES(miss_mutex_);
  void drain(Shard& shard) const HEADROOM_REQUIRES(shard.mutex()) {
    if (shard.has_mail()) foreign_frees_ += shard.drain_inbox();
  }
  void note_peak(std::size_t number, const Shard& shard) const HEADROOM_REQUIRES(shard.mutex()) {
    if (!is_alone()) peak_.note(number, shard.usage());
  }

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
