// SPDX-License-Identifier: Apache-2.0
// `headroom run -- CMD`: any command under supervision.
#pragma once

#include <string>
#include <vector>

#include "cli/command_options.h"
#include "cli/commands.h"
#include "supervisor/settings.h"

namespace headroom::cli {

struct CommandQuestion {
  std::vector<std::string> words;  // The command, with its placeholders.
  CommandOptions options;
  bool quiet = false;
  // What a job says of its batch; --settings wins.
  supervisor::Settings of_job = {};
  std::string job = {};  // Its file; empty: there is none.
};

// Returns the exit code: the command's own, 1 where headroom ended it, exit_usage or
// exit_could_not_look where it was not started.
int run_command(const CommandQuestion& question, const Context& context);

}  // namespace headroom::cli
