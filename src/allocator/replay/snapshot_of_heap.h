// SPDX-License-Identifier: Apache-2.0
// Converts an allocator's state and a flight recorder's events to a snapshot that PyTorch's viewer
// can read.
#pragma once

#include "allocator/forensics/heap_view.h"
#include "allocator/replay/recording.h"
#include "allocator/snapshot/snapshot.h"

namespace headroom::allocator {

// Every span of the heap becomes a segment that its blocks tile. Blocks outside all spans, which
// exist if the beginning of a recording is lost, get segments of whole pages around them. Events
// for which PyTorch has no word are left out. `names` are the names of blocks and events, indexed
// by NameId. Requires: blocks do not overlap.
Snapshot to_snapshot(const HeapView& view, const std::vector<FlightEvent>& events,
                     const std::vector<std::string>& names, std::uint64_t start_unix_us);

// The same for a recording: its state at the end and its events.
Snapshot to_snapshot(const Recording& recording);

}  // namespace headroom::allocator
