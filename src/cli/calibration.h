// SPDX-License-Identifier: Apache-2.0
// How fast headroom's own trainer is here: `test --calibrate` measures it, `plan` says seconds by
// it, `run` corrects it.
#pragma once

#include <optional>
#include <string>

#include "cli/commands.h"
#include "estimate/plan.h"
#include "report/time_report.h"
#include "run/job_file.h"

namespace headroom::cli {

// `headroom test --calibrate`. The exit code: 0 measured and saved, 3 could not.
int calibrate(bool json, const Context& context);

// How long a planned job will take here. `root` is the machine that it was planned for. Never
// fails: what is not known says why.
report::JobTime find_job_time(const estimate::Plan& plan, const run::LoadedJob& loaded,
                              const std::string& root, const Context& context);

// What the run that has just ended says of its prediction goes into the calibration; `report` is
// headroom.train/1. Nothing where there is no prediction, or the run was too short or disturbed.
void correct_calibration(const report::JobTime& predicted, const estimate::Plan& plan,
                         const std::string& report, const Context& context);

}  // namespace headroom::cli
