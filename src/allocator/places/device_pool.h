// SPDX-License-Identifier: Apache-2.0
// What one allocator holds of the device: pages, created up to the capacity and kept when they are
// unmapped, or plain allocations; and what the device was asked and what that cost. All calls to
// the Backend go through here. Pages are kept until somebody asks for them back or the pool ends:
// re-mapping is cheaper, and on ROCm destroying one need not return the memory while the address
// range is reserved.
//
// What is taken and given back it notes in a flight recorder's ring: a stretch of pages is one
// event, so that a repair that moves a thousand of them does not drive the rest out of the ring.
//
// Thread-safe: one mutex around every call, since backends have none.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "allocator/backend.h"
#include "allocator/budget.h"
#include "allocator/forensics/flight_shard.h"
#include "base/mutex.h"

namespace headroom::allocator {

class DevicePool {
 public:
  // What the pool holds and what it cost, at one moment.
  struct Totals {
    std::uint64_t reserved_bytes = 0;  // Pages and plain allocations.
    std::uint64_t reserved_peak_bytes = 0;
    std::uint64_t unmapped_pages = 0;
    std::uint64_t held_limit_bytes = 0;  // The capacity, or what was held when it became less.
    std::uint64_t lost_pages = 0;
    std::uint64_t device_calls = 0;
    std::uint64_t device_ns = 0;
  };

  // `backend` outlives the pool, and so do `budget` and `recorder`, which may be null; nobody else
  // writes to the recorder. The capacity counts in whole pages.
  DevicePool(Backend& backend, std::uint64_t capacity_bytes, Budget* budget = nullptr,
             FlightShard* recorder = nullptr);
  ~DevicePool();
  DevicePool(const DevicePool&) = delete;
  DevicePool& operator=(const DevicePool&) = delete;

  const Capabilities& capabilities() const { return *capabilities_; }
  // False in a forked child: then no lock may be taken, and the memory is not there.
  bool is_ours() const { return *alive_ != 0; }
  std::uint64_t capacity_bytes() const {
    return capacity_pages_.load(std::memory_order_relaxed) * page_bytes;
  }
  // Counts in whole pages. What is held beyond it is not taken away: it goes back to the device as
  // it comes back to the pool, and until then nothing new is taken.
  void set_capacity(std::uint64_t bytes);
  // Gives the device what the pool has unmapped, where the device can take it back; how much.
  std::uint64_t shrink();

  Result<std::uint64_t> reserve_range(std::uint64_t bytes);

  // From now on new pages are created several to a handle, which takes fewer calls: up to `most`,
  // 32 at most. A handle moves only as a whole and one live block can pin it, so the usual limit is
  // a 128th of what is held now, and nobody asks for it before a job's first iteration is over:
  // until then nobody knows what will lie beside what. No effect where destroying a handle does not
  // return its memory, since then one that has become too large for a place could not be broken up.
  void use_large_handles(std::uint64_t most);
  void use_large_handles();

  // Pages under one handle, a power of two.
  struct Pages {
    PageHandle handle = 0;
    std::uint32_t count = 0;
  };
  // Maps unmapped pages, or new ones, at `address`: at least one and at most `wanted`. Fails with
  // the backend's words, or with out_of_memory at the capacity; the pages are then still in the
  // pool.
  Result<Pages> map(std::uint64_t address, std::uint64_t wanted);
  // Once for a stretch of pages mapped since; before anything touches them. `stream`, here and
  // below: whose request it is for, which only the recorder is told.
  Status allow_access(std::uint64_t address, std::uint64_t bytes, StreamId stream = 0);
  // Takes the pages at `address` back. On failure they stay mapped.
  Status unmap(std::uint64_t address, Pages pages);
  // These mapped pages can never be used again.
  void lose(std::uint64_t pages);

  // Pages that can still be mapped: unmapped ones, and new ones up to the capacity. Once the
  // backend refused a new page, only the unmapped ones, until retry_creation().
  std::uint64_t spare() const;
  void retry_creation();

  // Plain memory, `bytes` a multiple of page_bytes. Fails as map() does.
  Result<std::uint64_t> allocate(std::uint64_t bytes, StreamId stream = 0);
  Status release(std::uint64_t address, std::uint64_t bytes, StreamId stream = 0);

  // Of a stretch of pages, `unmap` and `repair`: what the pool sees only page by page.
  void note(FlightKind kind, std::uint64_t address, std::uint64_t bytes, StreamId stream);
  // From now on nothing is noted: what goes back at the end of an allocator is no part of its
  // story, and who reads the recording wants to see what it held.
  void stop_recording();

  void bind_stream(StreamId stream, std::uintptr_t native);
  Status wait_for(StreamId stream);
  Result<EventId> record(StreamId stream);
  // Whether the event has passed; `block`: waits until it has. An event that cannot be asked about
  // counts as passed once the stream was waited for, and so does no_event, which waits only where
  // it may block. False where the device refuses to wait, as it does for a stream that is being
  // captured.
  static constexpr EventId no_event = 0;
  bool passed(EventId event, StreamId stream, bool block);
  bool is_idle(StreamId stream);  // Nothing is queued on it.

  // While a stream is captured into a graph it must not be asked or waited for, since that would
  // end the capture: until then nothing of it is known to be done.
  void set_captured(std::vector<StreamId> streams);

  Totals totals() const;
  // The reserved peak is what is reserved now.
  void reset_peak();
  // As the driver counts; asks it once.
  Result<DeviceMemory> device_memory() const;
  // The last refusal that still stands: one for want of memory is over once memory was granted.
  std::optional<Error> last_error() const;

 private:
  template <class T>
  Result<T> noted(Result<T> result, std::uint32_t cost) HEADROOM_REQUIRES(mutex_);
  Status check_process() const;
  Status check_not_captured(StreamId stream) const HEADROOM_REQUIRES(mutex_);
  bool waited(StreamId stream) HEADROOM_REQUIRES(mutex_);
  Status take_budget(std::uint64_t bytes) HEADROOM_REQUIRES(mutex_);
  void give_budget_back(std::uint64_t bytes) HEADROOM_REQUIRES(mutex_);
  bool passed_or_waited(EventId event, StreamId stream) HEADROOM_REQUIRES(mutex_);
  Status try_to_create(std::size_t size) HEADROOM_REQUIRES(mutex_);
  Status create(std::uint64_t wanted) HEADROOM_REQUIRES(mutex_);
  std::uint64_t room() const HEADROOM_REQUIRES(mutex_);
  void set_most_per_handle(std::uint64_t most) HEADROOM_REQUIRES(mutex_);
  Result<std::size_t> unmapped_for(std::uint64_t wanted) HEADROOM_REQUIRES(mutex_);
  std::uint64_t usable() const HEADROOM_REQUIRES(mutex_);
  std::uint64_t destroy_unmapped(std::size_t size) HEADROOM_REQUIRES(mutex_);
  bool make_room(std::size_t size) HEADROOM_REQUIRES(mutex_);
  void give_excess_back() HEADROOM_REQUIRES(mutex_);
  void note_locked(FlightKind kind, std::uint64_t address, std::uint64_t bytes, StreamId stream)
      HEADROOM_REQUIRES(mutex_);
  void note_reserved() HEADROOM_REQUIRES(mutex_);
  std::uint64_t plain_pages() const HEADROOM_REQUIRES(mutex_) { return plain_bytes_ / page_bytes; }

  Backend* backend_ HEADROOM_POINTEE_GUARDED_BY(mutex_);
  const Capabilities* capabilities_ = &backend_->capabilities();  // Which never change.
  const std::uint64_t* alive_;  // Of the backend, or a constant 1.
  std::atomic<std::uint64_t> capacity_pages_;
  Budget* budget_ HEADROOM_POINTEE_GUARDED_BY(mutex_);
  FlightShard* recorder_ HEADROOM_GUARDED_BY(mutex_) HEADROOM_POINTEE_GUARDED_BY(mutex_);
  // Taken from the budget, and not from the device yet.
  std::uint64_t unused_budget_ HEADROOM_GUARDED_BY(mutex_) = 0;
  mutable Mutex mutex_;
  std::uint64_t held_limit_ HEADROOM_GUARDED_BY(mutex_) = 0;  // Pages.
  std::uint64_t created_ HEADROOM_GUARDED_BY(mutex_) = 0;
  std::uint64_t plain_bytes_ HEADROOM_GUARDED_BY(mutex_) = 0;
  std::uint64_t reserved_peak_ HEADROOM_GUARDED_BY(mutex_) = 0;
  std::uint64_t lost_ HEADROOM_GUARDED_BY(mutex_) = 0;
  // By the logarithm of how many pages the handle has.
  static constexpr std::size_t handle_sizes = 6;
  std::array<std::vector<PageHandle>, handle_sizes> unmapped_ HEADROOM_GUARDED_BY(mutex_);
  std::uint64_t unmapped_pages_ HEADROOM_GUARDED_BY(mutex_) = 0;
  std::uint64_t most_per_handle_ HEADROOM_GUARDED_BY(mutex_) = 1;
  // Of is_idle(): asked and not passed.
  std::unordered_map<StreamId, EventId> unanswered_ HEADROOM_GUARDED_BY(mutex_);
  std::vector<StreamId> captured_ HEADROOM_GUARDED_BY(mutex_);
  std::uint64_t device_calls_ HEADROOM_GUARDED_BY(mutex_) = 0;
  std::uint64_t device_ns_ HEADROOM_GUARDED_BY(mutex_) = 0;
  bool refused_ HEADROOM_GUARDED_BY(mutex_) = false;
  std::optional<Error> last_error_ HEADROOM_GUARDED_BY(mutex_);
};

}  // namespace headroom::allocator
