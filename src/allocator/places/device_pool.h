// SPDX-License-Identifier: Apache-2.0
// The device memory that one allocator holds: pages, which are created up to the capacity and kept
// when they are unmapped, or plain allocations. All calls to the Backend go through here, and their
// number and cost are counted. Pages are kept until shrink() or the end of the pool, because
// mapping one again is cheaper than creating one, and because on ROCm destroying a page need not
// return its memory while the address range is reserved.
//
// It notes what is taken and given back in a flight recorder's ring. A stretch of pages is one
// event, so that a repair that moves a thousand pages does not push everything else out.
//
// Thread-safe: one mutex is held around every call, since backends are not thread-safe.
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
    std::uint64_t held_limit_bytes = 0;  // The capacity, or what was held when it was lowered.
    std::uint64_t lost_pages = 0;
    std::uint64_t device_calls = 0;
    std::uint64_t device_ns = 0;
  };

  // `backend` outlives the pool, and so do `budget` and `recorder`, which may be null; nobody else
  // writes to the recorder. The capacity is rounded down to whole pages.
  DevicePool(Backend& backend, std::uint64_t capacity_bytes, Budget* budget = nullptr,
             FlightShard* recorder = nullptr);
  ~DevicePool();
  DevicePool(const DevicePool&) = delete;
  DevicePool& operator=(const DevicePool&) = delete;

  const Capabilities& capabilities() const { return *capabilities_; }
  // False in a forked child, which must take no lock and does not have the memory.
  bool is_ours() const { return *alive_ != 0; }
  std::uint64_t capacity_bytes() const {
    return capacity_pages_.load(std::memory_order_relaxed) * page_bytes;
  }
  // Rounds down to whole pages. What is held beyond the new capacity goes back to the device when
  // it comes back to the pool; until then nothing new is taken.
  void set_capacity(std::uint64_t bytes);
  // Gives unmapped pages back to the device, if the device takes them; returns how many bytes.
  std::uint64_t shrink();

  Result<std::uint64_t> reserve_range(std::uint64_t bytes);

  // From now on new pages are created several to a handle, which takes fewer calls: up to `most`,
  // and never more than 256. A handle moves only as a whole, and one live block pins it. So the
  // usual limit is a 32nd of what is held now, and this is called only after a job's first
  // iteration, when it is known which blocks lie together. Has no effect if destroying a handle
  // does not return its memory, since then a handle that is too large for a place could not be
  // broken up.
  void use_large_handles(std::uint64_t most);
  void use_large_handles();

  // Pages under one handle, a power of two.
  struct Pages {
    PageHandle handle = 0;
    std::uint32_t count = 0;
  };
  // How new pages are to be taken; both numbers are powers of two.
  struct Growth {
    std::uint64_t multiple = 1;    // The number of pages is to be a multiple of this.
    std::uint64_t per_handle = 1;  // The most pages that one handle may have.
    bool is_scattered = false;     // Much is free, in pieces that are all too small.
  };
  // Returns how `wanted` new pages are to be taken while `free` ones are mapped and free. While
  // memory is plenty, that is, while less than a sixteenth of the capacity is held, they come in
  // multiples where use_large_handles() would have an effect, for small blocks only if hardly any
  // of the capacity is held: they are few, and one that lasts pins its handle. Later they come in
  // large handles once use_large_handles() was called, as long as the capacity has room for them.
  // But a job that grows although much is free has its free memory in pieces, and will need pages
  // that move one by one.
  Growth growth(std::uint64_t wanted, std::uint64_t free, bool for_small_blocks) const;
  // Maps unmapped pages, or new ones, at `address`: at least one and at most `wanted`. New pages
  // come up to `per_handle` to a handle. Fails with the backend's error, or with out_of_memory at
  // the capacity; the pages then stay in the pool.
  Result<Pages> map(std::uint64_t address, std::uint64_t wanted, std::uint64_t per_handle = 1);
  // Is called once for a stretch of newly mapped pages, before anything touches them. Here and
  // below, `stream` is the one whose request it is for; only the recorder uses it.
  Status allow_access(std::uint64_t address, std::uint64_t bytes, StreamId stream = 0);
  // Unmaps the pages at `address` and keeps them in the pool. On failure they stay mapped.
  Status unmap(std::uint64_t address, Pages pages);
  // Counts mapped pages that can never be used again.
  void lose(std::uint64_t pages);

  // How many pages can still be mapped: unmapped ones, and new ones up to the capacity. After the
  // backend refused a new page, only unmapped ones count until retry_creation().
  std::uint64_t spare() const;
  void retry_creation();

  // Takes plain memory; `bytes` is a multiple of page_bytes. Fails like map().
  Result<std::uint64_t> allocate(std::uint64_t bytes, StreamId stream = 0);
  Status release(std::uint64_t address, std::uint64_t bytes, StreamId stream = 0);

  // Notes `unmap` and `repair` of a stretch of pages, which the pool itself sees only page by page.
  void note(FlightKind kind, std::uint64_t address, std::uint64_t bytes, StreamId stream);
  // From now on nothing is noted. A reader of the recording wants to see what the allocator held,
  // and not how it gave everything back at its end.
  void stop_recording();

  void bind_stream(StreamId stream, std::uintptr_t native);
  Status wait_for(StreamId stream);
  Result<EventId> record(StreamId stream);
  // Whether the event has passed; with `block`, waits until it has. If the backend cannot answer,
  // waits for the stream instead; for no_event, only with `block`. False if the device refuses to
  // wait, as it does for a stream that is being captured.
  static constexpr EventId no_event = 0;
  bool passed(EventId event, StreamId stream, bool block);
  bool is_idle(StreamId stream);  // Whether nothing is queued on it.

  // Sets the streams that are being captured into a graph. Asking or waiting for such a stream
  // would end the capture, so until the capture ends its work counts as not done.
  void set_captured(std::vector<StreamId> streams);

  Totals totals() const;
  // Sets the reserved peak to what is reserved now.
  void reset_peak();
  // The device's memory as its driver counts it; asks the driver on each call.
  Result<DeviceMemory> device_memory() const;
  // The last refusal that still stands; a refusal for lack of memory is forgotten once memory was
  // granted.
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
  Status create(std::uint64_t wanted, std::uint64_t per_handle) HEADROOM_REQUIRES(mutex_);
  std::uint64_t room() const HEADROOM_REQUIRES(mutex_);
  void set_most_per_handle(std::uint64_t most) HEADROOM_REQUIRES(mutex_);
  bool can_use_large_handles() const {
    return capabilities_->destroy_returns_memory && capabilities_->several_pages_per_handle;
  }
  Result<std::size_t> unmapped_for(std::uint64_t wanted, std::uint64_t per_handle)
      HEADROOM_REQUIRES(mutex_);
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
  static constexpr std::size_t handle_sizes = 9;
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
