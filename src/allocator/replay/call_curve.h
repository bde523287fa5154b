// SPDX-License-Identifier: Apache-2.0
// What more memory buys: the device calls that a policy makes on a trace, capacity by capacity.
// Near the live peak some policies finish, but move or give back memory all the time.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "allocator/replay/replay.h"
#include "allocator/replay/trace.h"

namespace headroom::allocator {

// One replay. The counts are what it came to, also where it did not complete.
struct CallPoint {
  std::uint64_t capacity_bytes = 0;
  bool completed = false;
  std::uint64_t events = 0;
  std::uint64_t device_calls = 0;
  std::uint64_t device_ns = 0;  // What the calls cost, if the device knows.
  // Device calls per event after the second iteration. Nothing where the trace has no such event,
  // or did not complete.
  std::optional<double> steady_calls_per_event;
};

// Replays the trace with 0 to 100 % more than its live peak (capacities rounded up to whole bytes),
// smallest first. `steady_from`: the number of the event at which the second iteration ends, if
// there is one. Nothing for a trace in which nothing lives.
std::vector<CallPoint> measure_call_curve(const Trace& trace, std::uint64_t live_peak_bytes,
                                          std::optional<std::uint64_t> steady_from,
                                          const PolicyMaker& make);

}  // namespace headroom::allocator
