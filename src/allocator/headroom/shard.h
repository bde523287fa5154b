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
#include <mutex>
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

namespace headroom::allocator {

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

  std::mutex& mutex() { return mutex_; }

  // Whether a plan may be broken up for the memory that it holds.
  enum class Plan : std::uint8_t { keep, break_up };

  // Three ways to a block of `bytes`, the rounded request, each dearer than the one before. ready:
  // its planned place, or free memory that the stream may use at once. lend: memory that any stream
  // may use, for a stream of another shard. hard: whatever the core can do, after ready() found
  // nothing.
  std::optional<Address> ready(const Request& request, std::uint64_t bytes);
  std::optional<Address> lend(const Request& request, std::uint64_t bytes);
  std::optional<Address> hard(const Request& request, std::uint64_t bytes, Plan plan);

  // False if the address is no live block of this shard.
  bool free(Address address);
  bool retag(Address address, Component tag);
  // The block is used by that stream as well: its memory is reused only when what the stream has
  // queued at the free is done; on a stream that is being captured, when it is known to be.
  bool record_stream(Address address, StreamId stream);
  std::optional<std::uint64_t> block_bytes(Address address) const;
  // Calls visit(address, bytes) for every live block.
  template <class Visit>
  void for_each_block(Visit&& visit) const {
    blocks_.for_each(
        [&](Address address, SegmentId id) { visit(address, core_->segment(id).bytes); });
  }

  void publish(StreamId stream) { core_->publish(stream); }
  // Publishes the streams that have nothing queued any more.
  void publish_idle_streams();
  // Gives what is wholly free to the other shards; see Core::give_up().
  std::uint64_t give_up(std::uint64_t bytes, Plan plan);
  // The same with all of it, but the plan stays.
  std::uint64_t trim() { return give_up(pool_->totals().reserved_bytes, Plan::keep); }
  // Whether somebody remembers addresses of free memory, as a captured graph does: as long as that
  // is so, nothing is moved or given up.
  void remember_addresses(bool remembered) { is_remembered_ = remembered; }

  // The inbox has frees from threads that found the lock taken; the next thread that takes the lock
  // performs them. inbox_put() and has_mail() need no lock.
  void inbox_put(Address address);
  bool has_mail() const { return inbox_has_mail_.load(std::memory_order_acquire); }
  // How many of them were no live blocks.
  std::uint64_t drain_inbox();

  // What is live, by component; the peak is this shard's own.
  const Usage& usage() const { return tracker_.usage(); }
  void reset_peak() { tracker_.reset_peak(); }
  const Core& core() const { return *core_; }
  Core& core() { return *core_; }
  const PlanCounts& plan_counts() const { return planner_.counts(); }

  // For who reads the recording: that the request could not be met, and that the program has waited
  // for the stream.
  void note_refusal(const Request& request, std::uint64_t bytes);
  void note_synchronization(StreamId stream);

  void add_to(HeapView& view, StreamId stream) const;
  // Adds how old things are, as this shard counts: its blocks' births are such numbers.
  void add_ages_to(HeapView& view) const;
  std::string broken_invariant() const;
  // Memory that neither a live block nor free bytes account for: what a plan holds beyond its live
  // blocks, and frees that wait for streams.
  std::uint64_t set_aside_bytes() const;

 private:
  struct Waiting {  // A free that waits for other streams.
    SegmentId segment = no_segment;
    std::vector<std::pair<EventId, StreamId>> events;
  };

  std::optional<Address> take_slot(const Request& request, std::uint64_t bytes);
  Address keep(SegmentId id, const Request& request, std::uint64_t bytes);
  SegmentId find(std::uint64_t bytes, StreamId stream, Plan plan);
  void break_plan_up();
  SegmentId take_planned(std::uint32_t slot, SegmentId moved);
  void let_go(SegmentId id);
  void wait_for_sharers(SegmentId id);
  void reap_waiting(bool block);
  void note(FlightKind kind, const Segment& segment);
  void note_iteration();

  mutable std::mutex mutex_;
  std::unique_ptr<Core> core_;
  DevicePool* pool_;
  Options options_;
  Planner planner_;
  AddressMap blocks_;
  UsageTracker tracker_;
  std::uint64_t births_ = 0;               // Blocks so far.
  std::vector<std::uint64_t> iterations_;  // The births that began the last ones.
  bool is_remembered_ = false;
  std::vector<Waiting> waiting_;                       // In the order of the frees.
  std::vector<StreamId> unpassed_;                     // Of reap_waiting() alone.
  std::vector<std::pair<Address, StreamId>> sharers_;  // Of live blocks that are shared.

  std::mutex inbox_mutex_;
  std::vector<Address> inbox_;
  std::vector<Address> mail_;  // Of drain_inbox() alone, which keeps its memory.
  std::atomic<bool> inbox_has_mail_ = false;
};

}  // namespace headroom::allocator
