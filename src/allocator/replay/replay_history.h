// SPDX-License-Identifier: Apache-2.0
// A replay that remembers where everything was: for a picture of the address space, and for an
// export to PyTorch's viewer.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "allocator/policy.h"
#include "allocator/replay/replay.h"
#include "allocator/replay/trace.h"
#include "allocator/snapshot/snapshot.h"

namespace headroom::allocator {

// A block from the event that made it to the one that freed it, [begin, end), events from 0.
struct BlockLife {
  static constexpr std::uint64_t never = std::numeric_limits<std::uint64_t>::max();

  Address address = 0;
  std::uint64_t bytes = 0;  // As the policy rounded it.
  std::uint64_t requested_bytes = 0;
  std::uint64_t begin = 0;
  std::uint64_t end = never;
  StreamId stream = 0;
  Component tag = Component::other;
};

// What was held right after an event.
struct HeldBytes {
  std::uint64_t live = 0;
  std::uint64_t reserved = 0;
};

struct ReplayHistory {
  ReplayResult result;
  std::vector<BlockLife> blocks;  // In the order in which they were made.
  std::vector<HeldBytes> held;    // One for each event, the failed one included.
};

// As replay(). Requires: the policy is fresh.
ReplayHistory replay_with_history(const Trace& trace, Policy& policy);

// The history as a snapshot that PyTorch's viewer opens. A policy does not tell its segments, so a
// unit of 2 MiB counts as mapped from its first block on, and as unmapped where the policy holds
// less than that comes to. What `capacity_bytes` left free is said where the replay failed.
Snapshot to_snapshot(const ReplayHistory& history, std::uint64_t capacity_bytes);

}  // namespace headroom::allocator
