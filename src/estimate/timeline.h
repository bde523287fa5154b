// SPDX-License-Identifier: Apache-2.0
// What a picture of a step is drawn from: how much is live, component by component, and how much
// the allocator holds, event by event. Loading and one step are shown, the last that was recorded,
// as it has the optimizer's states in place; thinned out to so many buckets, of which each keeps
// its lowest and its highest moment, so that no peak of the step is lost.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "allocator/policy.h"
#include "base/result.h"
#include "estimate/device.h"
#include "estimate/job.h"
#include "estimate/models/architecture.h"
#include "estimate/recorder.h"

namespace headroom::estimate {

// Right after one event.
struct TimelinePoint {
  std::uint32_t event = 0;  // Of those shown, from 0: the place on the axis.
  Phase phase = Phase::load;
  bool allocates = false;  // Else it releases or is renamed.
  std::string tensor;      // What the event is about, by its full name.
  std::uint64_t tensor_bytes = 0;
  std::uint64_t live_bytes = 0;
  std::uint64_t reserved_bytes = 0;
  allocator::ByComponent live;  // Adds up to live_bytes.
};

// Events of one phase, [begin, end) of those shown.
struct PhaseSpan {
  Phase phase = Phase::load;
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
  bool after_gap = false;  // Events before it are not shown: the earlier steps.
};

struct Timeline {
  std::vector<TimelinePoint> points;  // In order of events.
  std::vector<PhaseSpan> phases;      // One after the other, from 0 to `events`.
  std::uint32_t events = 0;           // That are shown, thinned out or not.
  std::size_t peak = 0;               // The point at which the most is live, first.
  std::uint64_t reserved_peak_bytes = 0;
  std::vector<TensorRecord> largest;    // Live at the peak, at most ten, largest first.
  std::optional<TensorRecord> refused;  // What the policy had no room for: the line ends there.
};

// The step that is shown is the last one, or the one in which the most was live, where that was an
// earlier one. Requires: the policy is fresh, buckets > 0.
Timeline make_timeline(const Recording& recording, allocator::Policy& policy, std::size_t buckets);

// Of a job as planned (nothing in it is "auto"): within the device where it fits, else as it would
// be with plentiful memory, as Plan's numbers are. Fails as make_plan does.
Result<Timeline> find_timeline(const Job& planned, const Architecture& model, const Device& device,
                               std::size_t buckets);

}  // namespace headroom::estimate
