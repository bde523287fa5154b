// SPDX-License-Identifier: Apache-2.0
// Running another program in the foreground.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace headroom::machine {

// Runs argv[0] (a path, or a name looked up in PATH) with our standard streams and environment, and
// waits. SIGINT, SIGTERM, SIGHUP and SIGUSR1 that reach us meanwhile are passed on. Returns its
// exit status, or 128 + the number of the signal that ended it, as a shell does. Requires: one
// thread calls it at a time.
Result<int> run_program(const std::vector<std::string>& argv);

// The same, with what it writes to its standard output kept from ours. Nobody else hears of that,
// so if we end first, whatever ends us, the program gets a SIGTERM (PR_SET_PDEATHSIG, prctl(2)).
struct ProgramAnswer {
  int status = 0;
  std::string output;
};
Result<ProgramAnswer> ask_program(const std::vector<std::string>& argv);

// The path of the running program.
Result<std::string> program_path();
// How many processors this process may use (sched_getaffinity(2)); at least 1.
std::uint64_t usable_processors();

// The folder of the running program, without a slash at its end.
Result<std::string> program_folder();

}  // namespace headroom::machine
