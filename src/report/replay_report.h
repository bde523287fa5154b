// SPDX-License-Identifier: Apache-2.0
// Writes what `headroom replay` found, one row per policy, as a table for people and as JSON for
// programs (docs/schema/replay.schema.json).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "allocator/replay/call_curve.h"
#include "allocator/replay/replay.h"
#include "base/document_fwd.h"

namespace headroom::report {

// The trace by itself.
struct TraceFacts {
  std::string name;
  std::uint64_t events = 0;
  std::uint64_t peak_live_bytes = 0;  // Blocks rounded up to 512 bytes.
};

struct ReplayRow {
  std::string policy;
  std::optional<std::uint64_t> capacity_bytes;  // Nothing: as much as is asked for.
  allocator::ReplayResult result;
  double ns_per_event = 0;
  bool min_capacity_wanted = false;
  std::optional<std::uint64_t> min_capacity_bytes;  // Nothing: not wanted, or no capacity will do.
  std::vector<std::uint64_t> iteration_ends = {};   // allocator::find_iteration_ends().
  std::vector<allocator::CallPoint> call_curve = {};  // Empty: not wanted, or nothing lives.
};

// The events to mark in a replay, so that the row can say what a repeating job costs once it runs:
// the ends of the second and the fourth iteration.
std::vector<std::uint64_t> steady_marks(const std::vector<std::uint64_t>& iteration_ends);

Json to_json(const TraceFacts& trace, const ReplayRow& row);
// The memory that the row was replayed in: a size, or `unlimited` where no capacity was given. Also
// then there is an end, which is named where the row did not complete.
std::string capacity_text(const ReplayRow& row, std::string_view unlimited);

std::string to_text(const TraceFacts& trace, const std::vector<ReplayRow>& rows, std::size_t width);

// What to do where a policy did not finish: the last lines. Empty where all did.
std::string advice(const TraceFacts& trace, const std::vector<ReplayRow>& rows, std::size_t width);

}  // namespace headroom::report
