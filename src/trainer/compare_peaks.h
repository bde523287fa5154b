// SPDX-License-Identifier: Apache-2.0
// The peaks of a run in words: while it goes on, and beside what was planned.
#pragma once

#include <string>

#include "base/document_fwd.h"
#include "trainer/metrics.h"

namespace headroom::trainer {

// "5.2 GiB", or "5.2 GiB + 3.1 GiB of host memory".
std::string peak_of(const StepMetrics& line);

// "peak 5.2 GiB, predicted 5.2 GiB (+0.1 %)", of the host memory as well where something is
// offloaded; of a split model for each rank.
std::string compare_peaks(const Json& report);

}  // namespace headroom::trainer
