// SPDX-License-Identifier: Apache-2.0
// What the commands do with the history of runs: plan shows it, run and plan --record add to it.
// Where it cannot be read or written they say so and go on.
#pragma once

#include <string>

#include "cli/commands.h"
#include "estimate/past_errors.h"
#include "estimate/plan.h"
#include "run/job_file.h"

namespace headroom::cli {

// The file of past runs; empty where there is no folder for it.
std::string history_path(const Context& context);

// What runs of such jobs say of this plan. A history that cannot be read is a note on stderr, and
// no runs.
estimate::PastErrors look_up_past(const estimate::Plan& plan, const estimate::Architecture& model,
                                  const Context& context);

// `headroom plan --history`.
int list_past_runs(bool json, const Context& context);

// `headroom plan JOB --record REPORT.json`: a run made elsewhere.
int record_past_run(const std::string& report_path, const estimate::Plan& plan,
                    const estimate::Architecture& model, const Context& context);

// The run that `headroom run` has just ended. `report`: what the trainer itself gave us at its end,
// and not what lies in the output folder, where somebody else may have run meanwhile; empty if the
// run did not begin. Never fails: notes go to stderr.
void remember_run(const estimate::Plan& plan, const run::LoadedJob& loaded,
                  const std::string& report, const Context& context);

}  // namespace headroom::cli
