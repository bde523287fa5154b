// SPDX-License-Identifier: Apache-2.0
// What a PyTorch memory snapshot says, in words, and whether the job would have got past its OOM
// under the policies that it was replayed under.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "allocator/replay/snapshot_trace.h"
#include "allocator/snapshot/snapshot_reader.h"
#include "base/document_fwd.h"
#include "report/replay_report.h"

namespace headroom::report {

// A snapshot without its events.
struct SnapshotFacts {
  std::uint32_t device = 0;
  std::vector<allocator::SnapshotDevice> devices;
  std::vector<std::string> names;  // What owners point to.
  std::string settings;  // PYTORCH_CUDA_ALLOC_CONF as it was; empty: not known or not set.
  std::uint64_t live_at_start = 0;
  std::uint64_t live_at_start_bytes = 0;
  std::uint64_t contradictions = 0;
  std::optional<allocator::SnapshotOom> oom;
};

// The key "snapshot" of headroom.replay/1.
Json to_json(const SnapshotFacts& facts);

// What stands above the table of policies, and what stands below it, in lines of at most `width`
// where words allow it.
std::string introduce(const std::string& name, const SnapshotFacts& facts, std::size_t width);
std::string answer(const SnapshotFacts& facts, const TraceFacts& trace,
                   const std::vector<ReplayRow>& rows, std::size_t width);

}  // namespace headroom::report
