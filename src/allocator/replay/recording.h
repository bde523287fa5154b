// SPDX-License-Identifier: Apache-2.0
// Reads a flight recorder's file, and makes of it a trace to replay and the allocator's state at
// the end.
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

// How many of the device's events a recording has. `none`: it is from before there was a device's
// ring. `some`: the oldest were overwritten. `all`: none is missing.
enum class DeviceEvents : std::uint8_t { none, some, all };

struct Recording {
  std::uint64_t capacity_bytes = 0;
  std::uint64_t pid = 0;
  std::uint64_t pid_start = 0;
  std::uint64_t start_unix_us = 0;
  std::string device;
  bool closed = false;  // The writer ended in order; else it was killed or still runs.
  // All events by time, the device's before others of the same moment; those of one ring in the
  // order in which they were written. A ring reads the clock only every few events, so events of
  // different rings may be slightly out of order.
  std::vector<FlightEvent> events;
  DeviceEvents device_events = DeviceEvents::none;
  std::vector<std::string> names = {""};  // Indexed by NameId.
  std::uint64_t lost = 0;                 // Events that were overwritten because a ring was full.
  std::uint64_t torn = 0;     // Events that were being written when the writer was killed.
  std::uint64_t damaged = 0;  // Places that do not hold the record that belongs there.
};

// Whether the bytes begin as a flight recorder's file does.
bool is_flight_record(std::string_view bytes);

// Fails if it is not such a file, has another version, or is shorter than its header says. Records
// that make no sense are counted and left out.
Result<Recording> parse_flight_record(std::string_view bytes);

// Returns the allocations, frees and synchronisations as a trace. Blocks whose free is recorded,
// but whose allocation is lost, are allocated at the start. If an iteration event tells how much
// was live, what is still missing becomes one block of component `other`. A refusal after which
// nothing was allocated becomes an allocation: it is the one at which the program died.
Trace to_trace(const Recording& recording);

// Returns the blocks that are live after the last event and the memory that was taken from the
// device, as far as the events tell; Recording::device_events says whether that is all. Births are
// numbers of events, from 1. `names` stays null: the names are in the recording.
HeapView heap_at_end(const Recording& recording);

}  // namespace headroom::allocator
