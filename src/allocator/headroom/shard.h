// SPDX-License-Identifier: Apache-2.0
// The part of an allocator that one lock protects: a core that finds places, the planner, and what
// is known about every live block. Threads that work on different streams use different shards and
// do not wait for each other.
//
// Every function but inbox_put() requires that the caller holds mutex().
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "allocator/forensics/flight_shard.h"
#include "allocator/forensics/heap_view.h"
#include "allocator/places/address_map.h"
#include "allocator/places/core.h"
#include "allocator/places/device_pool.h"
#include "allocator/plans/planner.h"
#include "allocator/policy.h"
#include "allocator/usage_tracker.h"
#include "base/mutex.h"
#include "base/quick_mutex.h"

namespace headroom::allocator {

// No block is there.
inline constexpr Address no_address = 0;

class Shard {
 public:
  struct Options {
    bool planning = true;
    Executor executor = {};
    FlightShard* recorder = nullptr;  // Outlives the shard.
  };

  // `pool` outlives the shard.
  Shard(std::unique_ptr<Core> core, DevicePool& pool, Options options);
  ~Shard();

  QuickMutex& mutex() const HEADROOM_RETURNS_LOCK(mutex_) { return mutex_; }

  // Whether a plan may be broken up for the memory that it holds.
  enum class Plan : std::uint8_t { keep, break_up };

  // Three ways to a block for a request rounded to `bytes`, each more expensive than the one
  // before. ready() uses the planned place, or free memory that the stream may use at once. lend()
  // gives a stream of another shard what any stream may use, or what that stream itself was lent
  // and freed. hard() does whatever the core can do, after ready() found nothing. They return
  // no_address if there is none.
  Address ready(const Request& request, std::uint64_t bytes) HEADROOM_REQUIRES(mutex_);
  Address lend(const Request& request, std::uint64_t bytes) HEADROOM_REQUIRES(mutex_);
  Address hard(const Request& request, std::uint64_t bytes, Plan plan) HEADROOM_REQUIRES(mutex_);

  // Return false if the address is no live block of this shard.
  bool free(Address address) HEADROOM_REQUIRES(mutex_);
  bool retag(Address address, Component tag) HEADROOM_REQUIRES(mutex_);
  // Notes that this stream uses the block as well: its memory is reused only when everything is
  // done that the stream has queued at the time of the free. On a stream that is being captured
  // this is known only after the capture.
  bool record_stream(Address address, StreamId stream) HEADROOM_REQUIRES(mutex_);
  std::optional<std::uint64_t> block_bytes(Address address) const HEADROOM_REQUIRES(mutex_);
  // Calls visit(address, bytes) for every live block.
  template <class Visit>
  void for_each_block(Visit&& visit) const HEADROOM_REQUIRES(mutex_) {
    const Core& core = *core_;
    blocks_.for_each(
        [&](Address address, SegmentId id) { visit(address, core.segment(id).bytes); });
  }

  void publish(StreamId stream) HEADROOM_REQUIRES(mutex_) { core_->publish(stream); }
  // Publishes the streams that have nothing queued any more.
  void publish_idle_streams() HEADROOM_REQUIRES(mutex_);
  // Gives wholly free memory to the other shards; see Core::give_up().
  std::uint64_t give_up(std::uint64_t bytes, Plan plan) HEADROOM_REQUIRES(mutex_);
  // Gives all wholly free memory; the plan stays.
  std::uint64_t trim() HEADROOM_REQUIRES(mutex_) {
    return give_up(pool_->totals().reserved_bytes, Plan::keep);
  }
  // Tells the shard whether a captured graph remembers addresses of free memory. As long as it
  // does, nothing is moved or given up.
  void remember_addresses(bool remembered) HEADROOM_REQUIRES(mutex_) {
    is_remembered_ = remembered;
  }

  // The inbox has frees from threads that found the lock taken; the next thread that takes the lock
  // performs them. inbox_put() and has_mail() need no lock.
  void inbox_put(Address address);
  bool has_mail() const { return inbox_has_mail_.load(std::memory_order_acquire); }
  // Performs the frees in the inbox. Returns how many addresses were no live blocks.
  std::uint64_t drain_inbox() HEADROOM_REQUIRES(mutex_);

  // What is live, by component; the peak is this shard's own.
  const Usage& usage() const HEADROOM_REQUIRES(mutex_) { return tracker_.usage(); }
  void reset_peak() HEADROOM_REQUIRES(mutex_) { tracker_.reset_peak(); }
  const Core& core() const HEADROOM_REQUIRES(mutex_) { return *core_; }
  Core& core() HEADROOM_REQUIRES(mutex_) { return *core_; }
  const PlanCounts& plan_counts() const HEADROOM_REQUIRES(mutex_) { return planner_.counts(); }

  // Record that a request could not be met, and that the program has waited for a stream.
  void note_refusal(const Request& request, std::uint64_t bytes) HEADROOM_REQUIRES(mutex_);
  void note_synchronization(StreamId stream) HEADROOM_REQUIRES(mutex_);

  void add_to(HeapView& view, StreamId stream) const HEADROOM_REQUIRES(mutex_);
  // Adds HeapView::now and the beginnings of iterations, counted in this shard's births.
  void add_ages_to(HeapView& view) const HEADROOM_REQUIRES(mutex_);
  std::string broken_invariant() const HEADROOM_REQUIRES(mutex_);
  // Memory that is neither in a live block nor free: what a plan holds beyond its live blocks, and
  // freed blocks that wait for streams.
  std::uint64_t set_aside_bytes() const HEADROOM_REQUIRES(mutex_);

 private:
  struct Waiting {  // A free that waits for other streams.
    SegmentId segment = no_segment;
    std::vector<std::pair<EventId, StreamId>> events;
  };

  Address take_slot(const Request& request, std::uint64_t bytes) HEADROOM_REQUIRES(mutex_);
  Address keep(SegmentId id, const Request& request, std::uint64_t bytes) HEADROOM_REQUIRES(mutex_);
  SegmentId find(std::uint64_t bytes, StreamId stream, Plan plan) HEADROOM_REQUIRES(mutex_);
  void break_plan_up() HEADROOM_REQUIRES(mutex_);
  SegmentId take_planned(std::uint32_t slot, SegmentId moved) HEADROOM_REQUIRES(mutex_);
  void let_go(SegmentId id) HEADROOM_REQUIRES(mutex_);
  void wait_for_sharers(SegmentId id) HEADROOM_REQUIRES(mutex_);
  void reap_waiting(bool block) HEADROOM_REQUIRES(mutex_);
  void note(FlightKind kind, const Segment& segment) HEADROOM_REQUIRES(mutex_);
  void note_iteration() HEADROOM_REQUIRES(mutex_);

  mutable QuickMutex mutex_;
  std::unique_ptr<Core> core_ HEADROOM_POINTEE_GUARDED_BY(mutex_);
  DevicePool* pool_;
  Options options_ HEADROOM_GUARDED_BY(mutex_);
  Planner planner_ HEADROOM_GUARDED_BY(mutex_);
  AddressMap blocks_ HEADROOM_GUARDED_BY(mutex_);
  UsageTracker tracker_ HEADROOM_GUARDED_BY(mutex_);
  std::uint64_t births_ HEADROOM_GUARDED_BY(mutex_) = 0;  // Blocks so far.
  // The births that began the last ones.
  std::vector<std::uint64_t> iterations_ HEADROOM_GUARDED_BY(mutex_);
  bool is_remembered_ HEADROOM_GUARDED_BY(mutex_) = false;
  // In the order of the frees.
  std::vector<Waiting> waiting_ HEADROOM_GUARDED_BY(mutex_);
  // Of reap_waiting() alone.
  std::vector<StreamId> unpassed_ HEADROOM_GUARDED_BY(mutex_);
  // Of live blocks that are shared.
  std::vector<std::pair<Address, StreamId>> sharers_ HEADROOM_GUARDED_BY(mutex_);

  Mutex inbox_mutex_;
  std::vector<Address> inbox_ HEADROOM_GUARDED_BY(inbox_mutex_);
  // Of drain_inbox() alone, which keeps its memory.
  std::vector<Address> mail_ HEADROOM_GUARDED_BY(mutex_);
  std::atomic<bool> inbox_has_mail_ = false;
};

}  // namespace headroom::allocator
