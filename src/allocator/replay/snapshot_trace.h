// SPDX-License-Identifier: Apache-2.0
// Converts a PyTorch snapshot to a trace that every policy can replay, with what PyTorch itself
// said when it gave up.
//
// The trace begins with the blocks that were live before the oldest event: those that the events
// free, or that are in use at the end, without having been allocated. The order in which they were
// allocated is unknown, so they come by address. A block is freed when its memory could be used
// again (free_completed). If the program met an OOM, the trace ends with the refused request, the
// last one if there are several.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "allocator/replay/trace.h"
#include "allocator/snapshot/snapshot.h"
#include "base/result.h"

namespace headroom::allocator {

// The live memory of one owner at one moment.
struct OwnedMemory {
  SnapshotOwner owner;
  std::uint64_t blocks = 0;
  std::uint64_t bytes = 0;  // As the program asked.
};

// The refusal, in PyTorch's own figures.
struct SnapshotOom {
  std::uint64_t refused_bytes = 0;      // Rounded to 512 bytes, as PyTorch records it.
  std::uint64_t device_free_bytes = 0;  // As the device reported then.
  std::uint64_t live_bytes = 0;         // Blocks in use, each rounded to 512 bytes.
  std::uint64_t reserved_bytes = 0;     // Segments that PyTorch held.
  SnapshotOwner owner;                  // The owner of the request.
  std::uint64_t earlier = 0;            // How many OOMs the program survived before this one.
  // How many came after it if the program went on; not in the trace.
  std::uint64_t later_allocations = 0;
  std::vector<OwnedMemory> largest;  // The largest owners, at most ten.

  std::uint64_t unused_bytes() const {
    return reserved_bytes > live_bytes ? reserved_bytes - live_bytes : 0;
  }
  // Whether PyTorch refused although the device had room. It does if a fraction was set for the
  // process (set_per_process_memory_fraction), which then could not use the device's free bytes.
  bool limited_by_the_process() const;
  // How much the process could have had: what it held, and what the device had free for it.
  std::uint64_t capacity_bytes() const {
    return reserved_bytes + (limited_by_the_process() ? 0 : device_free_bytes);
  }
};

struct SnapshotTrace {
  Trace trace;
  std::uint64_t live_at_start = 0;  // How many of the first events allocate blocks from before.
  std::uint64_t live_at_start_bytes = 0;
  // Events that contradict earlier ones, because others were lost.
  std::uint64_t contradictions = 0;
  std::optional<SnapshotOom> oom;
};

// Fails if the snapshot has no history, because it was taken without
// torch.cuda.memory._record_memory_history(); then nothing can be replayed.
Result<SnapshotTrace> to_trace(const Snapshot& snapshot);

}  // namespace headroom::allocator
