// SPDX-License-Identifier: Apache-2.0
// From a job to its recorded step, and from the recording to its peak under an allocation policy.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "allocator/policy.h"
#include "base/result.h"
#include "estimate/device.h"
#include "estimate/job.h"
#include "estimate/models/architecture.h"
#include "estimate/recorder.h"

namespace headroom::estimate {

// Two optimizer steps, the second with the optimizer's states in place, as the job's engine runs
// them; of a model that is split over stages, those of the stage that needs most. Fails for what
// that engine cannot do (an attention kernel or a loss it does not have), naming what it can.
// Requires: job.batch.micro and job.compute.attention are set.
Result<Recording> record_step(const Job& job, const Architecture& model, const Device& device);

// The most that was live during each phase, which begins with what the one before it left; 0 of a
// phase that there was not.
using ByPhase = std::array<std::uint64_t, 5>;

struct Peak {
  allocator::Usage usage;
  ByPhase phases{};
  Phase at = Phase::load;           // When live_peak_bytes was reached first.
  std::vector<std::uint32_t> live;  // The tensors live at that moment, largest first.
  std::optional<std::uint32_t>
      failed;  // The tensor that could not be allocated: the replay ended there.
};

// Replays the recording through the policy. A failed allocation ends it; what was reached until
// then counts.
Peak replay(const Recording& recording, allocator::Policy& policy);

// The tensors that are live right after the event at `position`, largest first.
std::vector<std::uint32_t> live_after(const Recording& recording, std::size_t position);

}  // namespace headroom::estimate
