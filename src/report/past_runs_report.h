// SPDX-License-Identifier: Apache-2.0
// What past runs say of a plan, and the list of them: as text and as JSON (docs/schema).
#pragma once

#include <string>
#include <vector>

#include "base/document_fwd.h"
#include "estimate/past_errors.h"
#include "estimate/past_run.h"
#include "supervisor/past_command.h"

namespace headroom::report {

// Lines to stand below a plan; empty where no such run was recorded.
std::string to_text(const estimate::PastErrors& past, std::size_t width);
// The key "history" of headroom.plan/1; null where no such run was recorded.
Json to_json(const estimate::PastErrors& past);

// headroom plan --history. `unreadable`: rows of the file that make no sense.
std::string past_runs_to_text(const std::vector<estimate::PastRun>& runs, std::size_t unreadable,
                              std::size_t width);
Json past_runs_to_json(const std::vector<estimate::PastRun>& runs, std::size_t unreadable);

// The attempts of supervised commands, below the runs; empty where there is none.
std::string past_commands_to_text(const std::vector<supervisor::PastCommand>& attempts,
                                  std::size_t width);
// The key "commands" of headroom.past-runs/1.
Json past_commands_to_json(const std::vector<supervisor::PastCommand>& attempts);

}  // namespace headroom::report
