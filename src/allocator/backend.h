// SPDX-License-Identifier: Apache-2.0
// The seam between the allocator's core and memory. Two ways to get memory lie behind it. With
// virtual memory, physical pages and addresses are separate things: a backend reserves address
// ranges, creates one or several pages of page_bytes under a handle, and maps them at an address,
// always all that are under one handle. Without it, a plain
// allocation is memory and addresses at once, as hipMalloc gives. Host memory, GPUs and counting
// fakes are backends; one conformance suite runs over all of them.
#pragma once

#include <cstdint>

#include "allocator/device_memory.h"
#include "allocator/policy.h"
#include "base/result.h"

namespace headroom::allocator {

inline constexpr std::uint64_t page_bytes = std::uint64_t{2} << 20U;

inline constexpr std::uint32_t max_pages_per_handle = 1024;

// Physical pages that are created, mapped, unmapped and destroyed together. Numbers that are as
// small as possible, with room for the pages: that of one with four pages is followed by no other
// for four.
using PageHandle = std::uint32_t;

// A point in a stream's work; 0 is none.
using EventId = std::uint64_t;

// What one call costs in nanoseconds, the synchronisation that it brings included.
struct CallCosts {
  std::uint32_t reserve = 0;
  std::uint32_t create = 0;
  std::uint32_t destroy = 0;
  std::uint32_t map = 0;
  std::uint32_t allow_access = 0;
  std::uint32_t unmap = 0;
  std::uint32_t allocate = 0;
  std::uint32_t release = 0;
  std::uint32_t wait = 0;
};

// What a backend can do on this machine: measured, never concluded from a version.
struct Capabilities {
  // reserve_range() to unmap() work and lose no byte. A GPU's backend says so only after a
  // self-test.
  bool virtual_memory = false;
  // destroy_pages() returns the memory at once, not only when its range's addresses are free again.
  bool destroy_returns_memory = false;
  // create_pages() makes more than one under a handle, and such a handle is mapped as others are.
  bool several_pages_per_handle = false;
  // allow_access() works only on a whole mapped stretch, from where it begins.
  bool access_from_start_only = false;
  // How long after allow_access() the memory may still lose stores; the core does not wait for it,
  // the backend does.
  std::uint64_t settle_ns = 0;
  std::uint64_t max_mappings = 0;  // 0: no limit is known.
  CallCosts costs = {};            // 0 where nobody measured it.
};

class Backend {
 public:
  Backend() = default;
  Backend(const Backend&) = delete;
  Backend& operator=(const Backend&) = delete;
  virtual ~Backend() = default;

  virtual const Capabilities& capabilities() const = 0;

  // A word that becomes 0 in a forked child: the memory is its parent's, and a lock that another
  // thread held at the fork is never released there. Null: this memory survives a fork, or nobody
  // can tell. It lives as long as the backend.
  virtual const std::uint64_t* alive() const { return nullptr; }

  // Virtual memory. Where capabilities() lacks it these are refused with `unsupported`.

  // An unused address range, aligned to page_bytes; `bytes` is a multiple of it. The backend owns
  // the range and gives it back when it is destroyed.
  virtual Result<std::uint64_t> reserve_range(std::uint64_t bytes) = 0;

  // `count` physical pages: 1 to max_pages_per_handle, or only 1 where capabilities() say no more;
  // destroying them gives the memory back.
  // Requires for destroy: they are mapped nowhere.
  virtual Result<PageHandle> create_pages(std::uint32_t count) = 0;
  virtual Status destroy_pages(PageHandle pages) = 0;

  // Requires: all of the handle's pages fit into a reserved range from `address` on, which is
  // aligned to page_bytes, and nothing is mapped there; the handle is mapped nowhere else (HIP
  // allows one address per handle). The pages' contents follow the handle.
  virtual Status map(std::uint64_t address, PageHandle pages) = 0;

  // After map(), once for a whole stretch of mapped pages of one range, before anything touches it:
  // the device may read and write it when this returns.
  virtual Status allow_access(std::uint64_t address, std::uint64_t bytes) = 0;

  // All pages of the handle that is mapped at `address`, which is where its mapping begins. The
  // range stays reserved.
  virtual Status unmap(std::uint64_t address) = 0;

  // Plain allocation: every backend has it. `bytes` is a multiple of page_bytes; the address is a
  // multiple of 512 bytes at least, and the memory is the caller's until release(), or until the
  // backend is destroyed.
  virtual Result<std::uint64_t> allocate(std::uint64_t bytes) = 0;
  virtual Status release(std::uint64_t address) = 0;

  // What the whole device has and what of it is free, this backend's memory not counted as free
  // unless it can be taken again. Fails with `unsupported` where nobody counts that.
  virtual Result<DeviceMemory> device_memory() {
    return Error{Errc::unsupported, "no driver counts this memory", ""};
  }

  // Streams. A backend whose work is done when its calls return has nothing to wait for.

  // The device's own handle (hipStream_t, cudaStream_t as a number) of a stream that will be named
  // by `stream` from now on. Stream 0 is the device's default stream until told otherwise.
  virtual void bind_stream(StreamId stream, std::uintptr_t native) = 0;

  // Returns when no work queued on the stream so far can touch memory any more. Called before pages
  // that such work may use are unmapped, or given to another stream.
  virtual Status wait_for(StreamId stream) = 0;

  // The point that the stream's work has reached when all that is queued now is done. passed() says
  // whether it is; once it said yes the event is gone. Neither waits.
  virtual Result<EventId> record(StreamId stream) = 0;
  virtual Result<bool> passed(EventId event) = 0;
};

}  // namespace headroom::allocator
