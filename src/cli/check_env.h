// SPDX-License-Identifier: Apache-2.0
// `headroom check --env FILE`: the settings in a file, explained line by line for this machine.
#pragma once

#include <string>

#include "cli/commands.h"
#include "facts/facts.h"
#include "findings/diagnosis.h"
#include "knowledge/gpu_tables.h"

namespace headroom::cli {

struct EnvQuestion {
  std::string file;        // "-": standard input.
  std::string root = "/";  // Of the machine that is looked at.
  bool json = false;
  bool quiet = false;
};

// Prints the answer, of a quadlet or a compose file also what this machine says to the services in
// it. The exit code is the file's, not the machine's: exit_findings if something in it should
// change, exit_usage if it cannot be read.
int answer_env(const EnvQuestion& question, const facts::Facts& facts,
               findings::Diagnosis diagnosis, const knowledge::GpuTables& tables,
               const Context& context);

}  // namespace headroom::cli
