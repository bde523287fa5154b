// SPDX-License-Identifier: Apache-2.0
// An allocator's state as plain values, from which out-of-memory reports and snapshots are made.
// Code that knows a heap fills it in; nothing here refers back to the heap.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "allocator/device_memory.h"
#include "allocator/forensics/batch_observer.h"
#include "allocator/forensics/name_table.h"
#include "allocator/policy.h"
#include "base/error.h"
#include "base/result.h"

namespace headroom::allocator {

struct LiveBlock {
  Address address = 0;
  std::uint64_t bytes = 0;            // After the allocator's rounding.
  std::uint64_t requested_bytes = 0;  // At most `bytes`.
  std::uint64_t birth = 0;            // The number of the event that allocated it.
  StreamId stream = 0;
  Component tag = Component::other;
  NameId name = 0;
};

// Free bytes in memory that was taken from the device.
struct FreePiece {
  Address address = 0;
  std::uint64_t bytes = 0;
  StreamId stream = 0;   // The stream that freed it.
  bool pending = false;  // Work queued on a stream other than the request's may still touch it.
  // Bytes of whole pages in it that cannot be unmapped, because a live block lies on the same
  // handle.
  std::uint64_t pinned_bytes = 0;
};

// A piece of device memory: one plain allocation, or a stretch of mapped pages.
struct DeviceSpan {
  Address address = 0;
  std::uint64_t bytes = 0;
  StreamId stream = 0;
  bool pages = false;  // Each 2 MiB of it can be unmapped, except pinned_bytes of free pieces.
};

// The vectors may be in any order; sorted by address is the fastest.
struct HeapView {
  Request request;  // The request that was refused.
  std::uint64_t capacity_bytes = 0;
  Usage usage;
  std::vector<LiveBlock> blocks;
  std::vector<FreePiece> free;
  std::vector<DeviceSpan> spans;  // Each block and each free piece lies in one of them.
  std::uint64_t spare_bytes = 0;  // Can still be taken from the device, or is not mapped anywhere.
  std::uint64_t now = 0;          // The number of the last event.
  // The numbers of the events that began the last iterations, in order; empty if they are not
  // known. A block born before the first of them counts as at least two iterations old.
  std::vector<std::uint64_t> iterations = {};
  std::uint64_t batch = 0;  // The present iteration's batch size; 0 if it is not known.
  std::optional<BatchLine> batch_line = {};
  // The device's memory, or why it is not known.
  Result<DeviceMemory> device_memory =
      Error{Errc::unsupported, "the device was not asked what others hold", ""};
  std::optional<Error> device = {};  // The device's own error, if it refused.
  const NameTable* names = nullptr;  // The blocks' names; may be null. Outlives the view.
};

}  // namespace headroom::allocator
