// SPDX-License-Identifier: Apache-2.0
// `headroom test` without --virtual-memory: the steps on every device, by the user's own Python.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "cli/commands.h"

namespace headroom::cli {

struct StepsQuestion {
  bool is_full = false;
  bool together = false;              // What several devices do together, instead.
  std::chrono::seconds soak{0};       // 0: no load of minutes.
  std::string steps;                  // As typed; empty: all.
  std::string python;                 // As typed; empty: the one that is found.
  std::optional<unsigned> timeout_s;  // For every step.
  std::string root = "/";             // Which machine's GPUs; another than this one for tests.
  bool json = false;
};

// Prints the answer. The exit code: 0 all steps that were done passed, 1 one failed, 2 what
// was typed is wrong, 3 no Python with a framework was found, or it could not be started.
int test_steps(const StepsQuestion& question, const Context& context);

}  // namespace headroom::cli
