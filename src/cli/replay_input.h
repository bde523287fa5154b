// SPDX-License-Identifier: Apache-2.0
// What `headroom replay` was given: a trace, a PyTorch snapshot, or a flight recording, told apart
// by what is in the file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "allocator/replay/recording.h"
#include "allocator/replay/trace.h"
#include "base/result.h"
#include "report/recording_report.h"
#include "report/snapshot_report.h"

namespace headroom::cli {

struct ReplayInput {
  allocator::Trace trace;
  std::optional<report::SnapshotFacts> snapshot = {};
  std::optional<report::RecordingFacts> recording = {};
  std::optional<allocator::Recording> recorded = {};  // Its events and names.
  std::optional<std::uint64_t> capacity_bytes = {};   // That the job had, where the file says so.
};

// `device`: of a snapshot; the one with the most events if none is named. `text` is the file.
Result<ReplayInput> parse_replay_input(std::string_view text, std::optional<std::uint32_t> device);

}  // namespace headroom::cli
