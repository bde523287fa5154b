// SPDX-License-Identifier: Apache-2.0
// What a training run printed, as the job that it was: each setting with the line it is from, and
// what no line says with the value that was assumed.
#pragma once

#include <string>

#include "base/result.h"
#include "run/job_flags.h"
#include "run/training_command.h"
#include "run/training_lines.h"

namespace headroom::run {

// `own` are headroom's own options, which win over the log. How many parameters are trained tells
// adapters and their rank. Fails where the log names no model that is known or at hand, where no
// adapters have as many parameters as are trained, and as the program's settings do.
Result<TrainingCommand> to_training_command(const TrainingLines& lines, const JobFlags& own,
                                            const std::string& where);

}  // namespace headroom::run
