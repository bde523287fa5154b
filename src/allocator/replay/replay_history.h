// SPDX-License-Identifier: Apache-2.0
// A replay that remembers where each block was, for a picture of the address space and for export
// to PyTorch's viewer.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "allocator/policy.h"
#include "allocator/replay/replay.h"
#include "allocator/replay/trace.h"
#include "allocator/snapshot/snapshot.h"

namespace headroom::allocator {

// A block, which lives from event `begin` to just before event `end`; events are counted from 0.
struct BlockLife {
  static constexpr std::uint64_t never = std::numeric_limits<std::uint64_t>::max();

  Address address = 0;
  std::uint64_t bytes = 0;  // After the policy's rounding.
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
  std::vector<BlockLife> blocks;  // In the order of allocation.
  std::vector<HeldBytes> held;    // One for each event, including the failed one.
};

// Does the same as replay(). Requires: the policy is fresh.
ReplayHistory replay_with_history(const Trace& trace, Policy& policy);

// Converts the history to a snapshot that PyTorch's viewer opens. A policy does not tell its
// segments, so a unit of 2 MiB counts as mapped from its first block on, and units are unmapped
// when the policy holds less than that adds up to. If the replay failed, the failure says how much
// of `capacity_bytes` was free.
Snapshot to_snapshot(const ReplayHistory& history, std::uint64_t capacity_bytes);

}  // namespace headroom::allocator
