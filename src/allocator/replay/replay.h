// SPDX-License-Identifier: Apache-2.0
// Runs a trace through a policy, and searches the capacity that it needs.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "allocator/policy.h"
#include "allocator/replay/trace.h"
#include "base/result.h"

namespace headroom::allocator {

struct ReplayResult {
  bool completed = false;
  std::optional<std::uint64_t> failed_at;  // The number of the event, from 1; comments not counted.
  std::uint64_t failed_bytes = 0;          // What that event asked for.
  std::uint64_t events = 0;                // That were replayed, the failed one included.
  Usage usage;                             // At the end, or at the failure.
  std::vector<Usage> at_marks = {};        // After the events that were marked, as far as it came.
};

// Stops at the first allocation that the policy refuses. Requires: the policy is fresh. `marks`:
// numbers of events, in order.
ReplayResult replay(const Trace& trace, Policy& policy,
                    const std::vector<std::uint64_t>& marks = {});

// The policy over a device of this capacity.
using PolicyMaker = std::function<std::unique_ptr<Policy>(std::uint64_t capacity_bytes)>;

// The smallest capacity on a grid of 0.1 % of the live peak, from 1.000 × the live peak upwards,
// from which that one and every larger one on the grid finishes (policies are not monotone in
// capacity). Nothing if the trace does not finish at any capacity.
//
// Requires of the policy: its decisions depend on the capacity only through what the device
// refuses. So a run that finishes with a peak of R reserved would have been the same at every
// capacity from R to its own, and the search steps down from R to R.
std::optional<std::uint64_t> find_min_capacity(const Trace& trace, const PolicyMaker& make);

}  // namespace headroom::allocator
