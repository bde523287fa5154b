// SPDX-License-Identifier: Apache-2.0
// Parts of the page of a training run that compare memory: planned beside measured, component by
// component and rank by rank.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/document_fwd.h"

namespace headroom::report {

// Each takes report.json and returns HTML; empty where the report has nothing to say there.
std::string component_bars(const Json& report);
std::string component_table(const Json& report);
std::string rank_table(const Json& report);

// What the plan said of the rank that wrote, at its peak; nothing if the job was not planned.
std::optional<std::uint64_t> planned_peak(const Json& report);

}  // namespace headroom::report
