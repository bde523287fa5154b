// SPDX-License-Identifier: Apache-2.0
// The seam between the allocator's core and memory. Two ways to get memory lie behind it. With
// virtual memory, physical pages and addresses are separate things: a backend reserves address
// ranges, creates one or several pages of page_bytes under a handle, and maps all pages of a handle
// together at an address. Without it, a plain allocation is memory and addresses at once, as
// hipMalloc gives. Host memory, GPUs and counting fakes are backends; one conformance suite runs
// over all of them.
#pragma once

#include <cstdint>

#include "allocator/device_memory.h"
#include "allocator/policy.h"
#include "base/result.h"

namespace headroom::allocator {

inline constexpr std::uint64_t page_bytes = std::uint64_t{2} << 20U;

inline constexpr std::uint32_t max_pages_per_handle = 1024;

// Physical pages that are created, mapped, unmapped and destroyed together. Handles are numbered as
// low as possible, and a handle takes one number for each of its pages: after handle 8 with four
// pages the next free number is 12.
using PageHandle = std::uint32_t;

// A point in a stream's work; 0 is none.
using EventId = std::uint64_t;

// What one call costs in nanoseconds, including the synchronisation that it causes.
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
  // destroy_pages() returns the memory to the device at once, and not only when the address range
  // that it was mapped in is freed as well.
  bool destroy_returns_memory = false;
  // create_pages() can create more than one page under a handle, and such a handle is mapped like
  // any other.
  bool several_pages_per_handle = false;
  // allow_access() works only on a whole stretch of mapped pages, starting where the stretch
  // starts.
  bool access_from_start_only = false;
  // For how long after allow_access() the memory may still lose stores. The backend, not the core,
  // waits for this.
  std::uint64_t settle_ns = 0;
  std::uint64_t max_mappings = 0;  // 0 where no limit is known.
  CallCosts costs = {};            // 0 where nobody measured it.
};

class Backend {
 public:
  Backend() = default;
  Backend(const Backend&) = delete;
  Backend& operator=(const Backend&) = delete;
  virtual ~Backend() = default;

  virtual const Capabilities& capabilities() const = 0;

  // Points to a word that becomes 0 in a forked child. The memory belongs to the parent, and a lock
  // that another thread held at the fork is never released in the child. Null if this memory
  // survives a fork, or if the backend cannot tell. The word lives as long as the backend.
  virtual const std::uint64_t* alive() const { return nullptr; }

  // Virtual memory. Where capabilities() lacks it these are refused with `unsupported`.

  // Reserves an unused address range, aligned to page_bytes; `bytes` is a multiple of page_bytes.
  // The backend owns the range and gives it back when the backend is destroyed.
  virtual Result<std::uint64_t> reserve_range(std::uint64_t bytes) = 0;

  // Creates `count` physical pages: 1 to max_pages_per_handle, or only 1 without
  // several_pages_per_handle. Destroying them gives the memory back. destroy_pages() requires that
  // they are not mapped anywhere.
  virtual Result<PageHandle> create_pages(std::uint32_t count) = 0;
  virtual Status destroy_pages(PageHandle pages) = 0;

  // Requires: `address` is aligned to page_bytes; all of the handle's pages fit into a reserved
  // range from there on, where nothing is mapped; and the handle is not mapped anywhere else (HIP
  // allows one address per handle). The pages keep their contents wherever they are mapped.
  virtual Status map(std::uint64_t address, PageHandle pages) = 0;

  // Is called after map(), once for a whole stretch of mapped pages of one range, before anything
  // touches it. The device may read and write the stretch when this returns.
  virtual Status allow_access(std::uint64_t address, std::uint64_t bytes) = 0;

  // Unmaps all pages of the handle whose mapping begins at `address`. The range stays reserved.
  virtual Status unmap(std::uint64_t address) = 0;

  // Every backend has plain allocation. `bytes` is a multiple of page_bytes; the address is a
  // multiple of at least 512 bytes, and the caller owns the memory until release(), or until the
  // backend is destroyed.
  virtual Result<std::uint64_t> allocate(std::uint64_t bytes) = 0;
  virtual Status release(std::uint64_t address) = 0;

  // How much memory the whole device has and how much of it is free. Memory that this backend holds
  // counts as free only if it can be handed out again. Fails with `unsupported` where no driver
  // counts it.
  virtual Result<DeviceMemory> device_memory() {
    return Error{Errc::unsupported, "no driver counts this memory", ""};
  }

  // Streams. A backend whose work is done when its calls return has nothing to wait for.

  // From now on `stream` names the stream with the device's own handle `native` (a hipStream_t or
  // cudaStream_t as a number). Stream 0 is the device's default stream until it is bound.
  virtual void bind_stream(StreamId stream, std::uintptr_t native) = 0;

  // Returns when no work queued on the stream so far can touch memory any more. It is called before
  // pages that such work may use are unmapped, or given to another stream.
  virtual Status wait_for(StreamId stream) = 0;

  // record() marks the point that the stream reaches when everything queued on it now is done.
  // passed() says whether it got there; once it has said yes, the event is gone. Neither call
  // waits.
  virtual Result<EventId> record(StreamId stream) = 0;
  virtual Result<bool> passed(EventId event) = 0;
};

}  // namespace headroom::allocator
