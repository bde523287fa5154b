// SPDX-License-Identifier: Apache-2.0
// `headroom plan --explain SIZE`: which tensor could not be allocated.
#pragma once

#include <string>
#include <vector>

#include "cli/commands.h"
#include "run/job_flags.h"

namespace headroom::cli {

struct ExplainOptions {
  std::string size;                  // "3.99GiB", as the message printed it.
  std::string spec;                  // A job; or empty.
  std::vector<std::string> command;  // The command that failed; or empty.
  run::JobFlags flags;               // A job, or what differs from it.
  bool json = false;
};

// Returns the exit code: exit_ok where a tensor is named, exit_findings where none is.
int explain(const ExplainOptions& options, const Context& context);

}  // namespace headroom::cli
