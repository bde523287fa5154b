// SPDX-License-Identifier: Apache-2.0
// `headroom plan --from LOG`: what a run printed, as the job that it was. A training run's settings
// become a job, what vLLM or llama.cpp loaded becomes the command that they were started with.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "run/job_flags.h"
#include "run/training_command.h"

namespace headroom::run {

struct ScriptLog {
  TrainingCommand training;          // Where `command` is empty. Its notes are all that is said.
  std::vector<std::string> command;  // "vllm serve …", "llama-server …".
  JobFlags device;                   // What the log tells of the card.
  std::vector<std::string> notes;    // What was taken from which line, and what was printed.
};

// `path` may be "-". Of several runs in a log the last one's settings hold. `own` are headroom's
// own options, which win. Fails where the log cannot be read, where it shows no run that is known,
// and where the model is not at hand.
Result<ScriptLog> read_script_log(const std::string& path, const JobFlags& own);

}  // namespace headroom::run
