// SPDX-License-Identifier: Apache-2.0
// A PyTorch snapshot as a trace that every policy can replay, and what PyTorch itself said when it
// gave up.
//
// The trace begins with the blocks that were live before the oldest event: those that the events
// free without having allocated them, and those that are in use at the end and were never
// allocated. Nobody knows in which order they came, so they come by address. A block is freed where
// its memory could be used again (free_completed). Where the program met an OOM, the trace ends
// with the request that was refused, the last one if there are several.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "allocator/replay/trace.h"
#include "allocator/snapshot/snapshot.h"
#include "base/result.h"

namespace headroom::allocator {

// What one owner has at one moment.
struct OwnedMemory {
  SnapshotOwner owner;
  std::uint64_t blocks = 0;
  std::uint64_t bytes = 0;  // As the program asked.
};

// The refusal, in PyTorch's own figures.
struct SnapshotOom {
  std::uint64_t refused_bytes = 0;      // Rounded to 512 bytes, as PyTorch records it.
  std::uint64_t device_free_bytes = 0;  // As the device said then.
  std::uint64_t live_bytes = 0;         // Blocks in use, each rounded to 512 bytes.
  std::uint64_t reserved_bytes = 0;     // Segments that PyTorch held.
  SnapshotOwner owner;                  // Who asked.
  std::uint64_t earlier = 0;            // OOMs before this one that the program survived.
  std::uint64_t later_allocations = 0;  // After it: the program went on. They are not in the trace.
  std::vector<OwnedMemory> largest;     // Of what was live, at most ten.

  std::uint64_t unused_bytes() const {
    return reserved_bytes > live_bytes ? reserved_bytes - live_bytes : 0;
  }
  // PyTorch refuses although the device has room where a fraction was set for the process
  // (set_per_process_memory_fraction), and then the device's free bytes were not for it.
  bool limited_by_the_process() const;
  // What the process could have had: what it held and what the device had free for it.
  std::uint64_t capacity_bytes() const {
    return reserved_bytes + (limited_by_the_process() ? 0 : device_free_bytes);
  }
};

struct SnapshotTrace {
  Trace trace;
  std::uint64_t live_at_start = 0;  // So many of the trace's first events; all are allocations.
  std::uint64_t live_at_start_bytes = 0;
  std::uint64_t contradictions = 0;  // Events that cannot be: lost ones lie before them.
  std::optional<SnapshotOom> oom;
};

// Fails where the snapshot has no history: it was taken without
// torch.cuda.memory._record_memory_history(), so nothing can be replayed.
Result<SnapshotTrace> to_trace(const Snapshot& snapshot);

}  // namespace headroom::allocator
