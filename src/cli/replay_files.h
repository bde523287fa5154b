// SPDX-License-Identifier: Apache-2.0
// What `headroom replay` writes beside its answer: a page, and a snapshot for PyTorch's viewer.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cli/replay_input.h"
#include "machine/output_files.h"
#include "report/replay_report.h"

namespace headroom::cli {

// Empty paths are not written.
struct ReplayFiles {
  std::string html;
  std::string exported;
  bool exports_policy = true;  // Else a flight recording is exported as it was recorded.
};

// As options, for machine/output_files.h to check.
std::vector<machine::OutputFile> to_outputs(const ReplayFiles& files);

// Replays once more for each policy of `rows`, as histories cost memory. Requires: one row where
// `exported` is wanted. On failure a file is as it was.
Status write_replay_files(const ReplayFiles& files, const ReplayInput& input,
                          const report::TraceFacts& facts,
                          const std::vector<report::ReplayRow>& rows);

}  // namespace headroom::cli
