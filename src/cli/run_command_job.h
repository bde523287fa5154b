// SPDX-License-Identifier: Apache-2.0
// `headroom run JOB.toml` of a job whose engine is a command: planned as far as the job says
// enough, refused if it cannot fit, and supervised.
#pragma once

#include <string>

#include "cli/command_options.h"
#include "cli/commands.h"
#include "run/command_job.h"

namespace headroom::cli {

struct CommandJobQuestion {
  run::CommandJob job;
  std::string path;
  std::string output;  // --output; empty: the job's folder, if it names one.
  bool quiet = false;
};

// Returns the exit code, as run_command() has it.
int run_command_job(const CommandJobQuestion& question, const CommandOptions& options,
                    const Context& context);

}  // namespace headroom::cli
