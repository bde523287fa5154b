// SPDX-License-Identifier: Apache-2.0
// What each rank of a job needed, for the report of the one that writes it.
#pragma once

#include <optional>
#include <vector>

#include "base/result.h"
#include "trainer/metrics.h"
#include "trainer/ranks/ranks.h"

namespace headroom::trainer {

// All ranks call it. Of those that are there, in their order; nothing for a process that is alone,
// or whose memory was not measured, or where a rank was lost meanwhile. Fails as Ranks::tell().
Result<std::vector<RunTotals::RankPeak>> gather_peaks(Ranks& ranks,
                                                      const std::optional<MeasuredMemory>& memory);

}  // namespace headroom::trainer
