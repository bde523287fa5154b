// SPDX-License-Identifier: Apache-2.0
// What a flight recorder's file says, and what it is good for: a trace to replay, and the state at
// the end as the events tell it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "allocator/forensics/flight_record.h"
#include "allocator/forensics/heap_view.h"
#include "allocator/replay/trace.h"
#include "base/result.h"

namespace headroom::allocator {

// What a recording says of the device's memory. `none`: it is older than the device's ring. `some`:
// the oldest events were overwritten. `all`: every one is there.
enum class DeviceEvents : std::uint8_t { none, some, all };

struct Recording {
  std::uint64_t capacity_bytes = 0;
  std::uint64_t pid = 0;
  std::uint64_t pid_start = 0;
  std::uint64_t start_unix_us = 0;
  std::string device;
  bool closed = false;  // The writer ended in order; else it was killed or still runs.
  // Of one ring in the order they were written, all by time, the device's before others of the same
  // moment. A ring looks at the clock only now and then, so events of different ones may be a few
  // events out of order.
  std::vector<FlightEvent> events;
  DeviceEvents device_events = DeviceEvents::none;
  std::vector<std::string> names = {""};  // By NameId.
  std::uint64_t lost = 0;                 // Overwritten, because the ring is only so long.
  std::uint64_t torn = 0;                 // Were being written when the writer was killed.
  std::uint64_t damaged = 0;              // Hold something else than the record that belongs there.
};

// Whether the bytes begin as a flight recorder's file does.
bool is_flight_record(std::string_view bytes);

// Fails if it is not such a file, or of another version, or shorter than its header says. Records
// that make no sense are counted and left out.
Result<Recording> parse_flight_record(std::string_view bytes);

// The allocations, frees and synchronisations. Blocks that are freed but were allocated before the
// first event, in events that are lost, are allocated at the start; where an iteration tells how
// much was live, what is still unaccounted for is one block of component `other`. A refusal after
// which nothing was allocated any more is an allocation as well: the one that the program died of.
Trace to_trace(const Recording& recording);

// Blocks that are live after the last event, and what was taken from the device, as far as the
// events tell: all of it where Recording::device_events says so. Birth numbers count events from 1.
// `names` stays null: they are in the recording.
HeapView heap_at_end(const Recording& recording);

}  // namespace headroom::allocator
