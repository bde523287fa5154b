// SPDX-License-Identifier: Apache-2.0
// Waiting for a program that runs, and keeping the end of what it says.
#pragma once

#include <sys/types.h>

#include <string>

#include "base/result.h"
#include "machine/programs.h"

namespace headroom::machine {

// Waits for `child` while reading `output`, our end of its pipe, and reaps it whatever happens.
// What it left running in the background may keep the pipe open: that is not waited for.
Result<ProgramOutput> wait_for_output(pid_t child, int output, const std::string& name);

}  // namespace headroom::machine
