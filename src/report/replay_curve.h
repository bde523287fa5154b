// SPDX-License-Identifier: Apache-2.0
// Writes the curves of `headroom replay --calls-per-event`: a table for people, in which they can
// choose a capacity, and JSON for programs (docs/schema/replay.schema.json).
#pragma once

#include <string>
#include <vector>

#include "allocator/replay/call_curve.h"
#include "base/document_fwd.h"
#include "report/replay_report.h"

namespace headroom::report {

// Device calls per 1,000 events by capacity, a column for each policy; empty where no row has a
// curve. Requires: all rows have curves over the same capacities, or none has one.
std::string call_curves(const TraceFacts& trace, const std::vector<ReplayRow>& rows,
                        std::size_t width);

Json to_json(const std::vector<allocator::CallPoint>& curve);

}  // namespace headroom::report
