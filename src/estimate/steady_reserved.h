// SPDX-License-Identifier: Apache-2.0
// What a run holds of the device in its steady state. Where an allocation meets the capacity,
// PyTorch gives its cached blocks back and asks again: for a moment the device is full, and from
// then on the run holds less than that. A counter that is read now and then shows the latter.
#pragma once

#include <cstdint>
#include <optional>

#include "allocator/policy.h"
#include "estimate/recorder.h"

namespace headroom::estimate {

// The largest reserved_bytes of the last recorded step, run once more after all of the recording.
// Nothing where something does not fit, or where there is only one step. Requires: `policy` is
// fresh.
std::optional<std::uint64_t> steady_reserved_bytes(const Recording& recording,
                                                   allocator::Policy& policy);

}  // namespace headroom::estimate
