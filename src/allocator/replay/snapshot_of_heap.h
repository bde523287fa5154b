// SPDX-License-Identifier: Apache-2.0
// From an allocator's state and a flight recorder's events to a snapshot as PyTorch's viewer reads
// it.
#pragma once

#include "allocator/forensics/heap_view.h"
#include "allocator/replay/recording.h"
#include "allocator/snapshot/snapshot.h"

namespace headroom::allocator {

// Every span of the heap is a segment that its blocks tile; blocks outside of all spans, which a
// recording has whose beginning is lost, get segments of whole pages around them. Events are the
// recording's, without those that PyTorch has no word for. `names` are those of the blocks and of
// the events, by NameId. Requires: blocks do not overlap.
Snapshot to_snapshot(const HeapView& view, const std::vector<FlightEvent>& events,
                     const std::vector<std::string>& names, std::uint64_t start_unix_us);

// The recording alone: its state at the end and its events.
Snapshot to_snapshot(const Recording& recording);

}  // namespace headroom::allocator
