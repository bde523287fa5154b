// SPDX-License-Identifier: Apache-2.0
// An allocator's state as plain values, for what explains it: the report of an out of memory, and
// snapshots. Whoever knows a heap can fill one in; nothing here refers back to it.
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
  std::uint64_t bytes = 0;            // As rounded by the allocator.
  std::uint64_t requested_bytes = 0;  // At most `bytes`.
  std::uint64_t birth = 0;            // The number of the event that allocated it.
  StreamId stream = 0;
  Component tag = Component::other;
  NameId name = 0;
};

// Free bytes on memory that was taken from the device.
struct FreePiece {
  Address address = 0;
  std::uint64_t bytes = 0;
  StreamId stream = 0;   // Which one freed it.
  bool pending = false;  // Work queued on another stream than the request's may still touch it.
  // Of its whole pages: they cannot be unmapped, since a live block holds on to their handle.
  std::uint64_t pinned_bytes = 0;
};

// What was taken from the device: one plain allocation, or a stretch of mapped pages.
struct DeviceSpan {
  Address address = 0;
  std::uint64_t bytes = 0;
  StreamId stream = 0;
  bool pages = false;  // Each 2 MiB of it can be unmapped, except what free pieces have pinned.
};

// The order of the vectors does not matter; by address is the fastest.
struct HeapView {
  Request request;  // That was refused.
  std::uint64_t capacity_bytes = 0;
  Usage usage;
  std::vector<LiveBlock> blocks;
  std::vector<FreePiece> free;
  std::vector<DeviceSpan> spans;  // Blocks and free pieces lie in them, each in one.
  std::uint64_t spare_bytes = 0;  // Could still be taken from the device, or is mapped nowhere.
  std::uint64_t now = 0;          // The number of the last event.
  // The numbers of the events that began the last iterations, in order; none where they are not
  // known. What was born before the first of them counts as two iterations old or older.
  std::vector<std::uint64_t> iterations = {};
  std::uint64_t batch = 0;  // Of the present iteration; 0: not known.
  std::optional<BatchLine> batch_line = {};
  // Or why nobody knows.
  Result<DeviceMemory> device_memory =
      Error{Errc::unsupported, "the device was not asked what others hold", ""};
  std::optional<Error> device = {};  // What the device said, where it refused.
  const NameTable* names = nullptr;  // Of the blocks; may be null. Outlives the view.
};

}  // namespace headroom::allocator
