// SPDX-License-Identifier: Apache-2.0
// Runs a trace through a policy, and finds the capacity that it needs.
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
  std::optional<std::uint64_t> failed_at;  // The event's number, from 1; comments do not count.
  std::uint64_t failed_bytes = 0;          // How much that event asked for.
  std::uint64_t events = 0;                // How many were replayed, including the failed one.
  Usage usage;                             // At the end, or at the failure.
  std::vector<Usage> at_marks = {};        // After each marked event that was reached.
};

// Stops at the first allocation that the policy refuses. Requires: the policy is fresh. `marks`:
// numbers of events, in order.
ReplayResult replay(const Trace& trace, Policy& policy,
                    const std::vector<std::uint64_t>& marks = {});

// Makes the policy over a device of this capacity.
using PolicyMaker = std::function<std::unique_ptr<Policy>(std::uint64_t capacity_bytes)>;

// Finds the smallest capacity, on a grid of 0.1 % of the live peak from 1.000 × the live peak
// upwards, with which the trace finishes and also finishes with every larger capacity on the grid
// (a policy may fail with more memory than it needs elsewhere). Nothing if the trace does not
// finish at any capacity.
//
// A run that finishes with R bytes reserved at its peak is taken to finish with every capacity down
// to R, or down to a percent of the live peak less, whichever is more. That is exact for policies
// that the capacity affects only through what the device refuses.
std::optional<std::uint64_t> find_min_capacity(const Trace& trace, const PolicyMaker& make);

}  // namespace headroom::allocator
