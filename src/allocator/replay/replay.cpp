// SPDX-License-Identifier: Apache-2.0
#include "allocator/replay/replay.h"

#include <algorithm>
#include <vector>

#include "allocator/models/exact_policy.h"
#include "allocator/models/make_policy.h"
#include "allocator/places/segment.h"
#include "base/bytes.h"
#include "base/require.h"

namespace headroom::allocator {
namespace {

constexpr std::uint64_t grid_per_peak = 1000;
// Up to 1/near_part above the live peak, a search tries capacities 1/step_part of it apart.
constexpr std::uint64_t near_part = 4;
constexpr std::uint64_t step_part = 100;

// The capacity at step k of the grid. A peak below 2^46 times a k below 2^17 does not overflow.
std::uint64_t grid_capacity(std::uint64_t live_peak, std::uint64_t step) {
  return live_peak + (live_peak * step + grid_per_peak - 1) / grid_per_peak;
}

// The largest step whose capacity is below `capacity`, if there is one.
std::optional<std::uint64_t> step_below(std::uint64_t live_peak, std::uint64_t capacity) {
  if (capacity <= live_peak) return std::nullopt;
  std::uint64_t step = (capacity - live_peak) * grid_per_peak / live_peak;
  while (step > 0 && grid_capacity(live_peak, step) >= capacity) --step;
  return step;
}

}  // namespace

ReplayResult replay(const Trace& trace, Policy& policy, const std::vector<std::uint64_t>& marks) {
  require(policy.usage().live_bytes == 0, "nothing lives in a policy that a trace is replayed on");
  ReplayResult result;
  std::vector<Address> addresses(trace.objects);
  for (const Event& event : trace.events) {
    ++result.events;
    switch (event.kind) {
      case EventKind::allocate: {
        const auto address = policy.allocate({event.bytes, event.tag, event.stream});
        if (!address) {
          result.failed_at = result.events;
          result.failed_bytes = event.bytes;
          result.usage = policy.usage();
          return result;
        }
        addresses[event.object] = *address;
        break;
      }
      case EventKind::free:
        policy.free(addresses[event.object]);
        break;
      case EventKind::synchronize:
        policy.synchronize(event.stream);
        break;
    }
    if (result.at_marks.size() < marks.size() && marks[result.at_marks.size()] == result.events)
      result.at_marks.push_back(policy.usage());
  }
  result.completed = true;
  result.usage = policy.usage();
  return result;
}

std::optional<std::uint64_t> find_min_capacity(const Trace& trace, const PolicyMaker& make) {
  ExactPolicy exact(unlimited_capacity_bytes);
  const ReplayResult ideal = replay(trace, exact);
  if (!ideal.completed) return std::nullopt;
  const std::uint64_t live_peak = ideal.usage.live_peak_bytes;
  if (live_peak == 0) return 0;
  std::uint64_t finishes = unlimited_capacity_bytes;
  std::optional<std::uint64_t> smallest;
  for (;;) {
    const auto policy = make(finishes);
    const ReplayResult run = replay(trace, *policy);
    if (!run.completed) return smallest;
    // A policy that goes only by what the device refuses finishes with every capacity from here
    // down to the reserved peak. One that goes by how much is left may not: so what is near the
    // live peak is tried in steps of a percent.
    const std::uint64_t reserved = std::max(run.usage.reserved_peak_bytes, live_peak);
    const std::uint64_t near =
        std::min(live_peak + live_peak / near_part, finishes - live_peak / step_part);
    const std::uint64_t from = std::max(reserved, near);
    const auto below = step_below(live_peak, from);
    smallest = grid_capacity(live_peak, below ? *below + 1 : 0);
    if (!below) return smallest;
    finishes = grid_capacity(live_peak, *below);
  }
}

}  // namespace headroom::allocator
