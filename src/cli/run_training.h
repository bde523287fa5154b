// SPDX-License-Identifier: Apache-2.0
// `headroom run JOB.toml` of a job for headroom's own trainer: planned, refused if it cannot fit,
// and run by headroom-train.
#pragma once

#include <string>
#include <vector>

#include "cli/command_options.h"
#include "cli/commands.h"
#include "estimate/plan.h"
#include "run/job_file.h"

namespace headroom::cli {

struct TrainingOptions {
  std::string job;
  std::string output;
  std::string trace;
  bool resume = false;
  std::vector<std::string> allowed_changes;
  bool quiet = false;
};

// With several ranks the plan is that of each of them; a job that is split over stages has as many
// ranks as stages. Returns the exit code.
int run_training(const TrainingOptions& options, const RankChoice& asked, const Context& context);

// Says why nothing was started, after the plan that shows it, and what to change; returns the exit
// code.
int refuse_plan(const estimate::Plan& plan, const run::LoadedJob& loaded, const std::string& path,
                const Context& context);

}  // namespace headroom::cli
