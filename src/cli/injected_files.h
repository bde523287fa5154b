// SPDX-License-Identifier: Apache-2.0
// Where the files lie that come into other programs, built or installed.
#pragma once

#include <string>

#include "base/result.h"
#include "run/command/inject_allocator.h"
#include "run/command/ranks.h"

namespace headroom::cli {

// Looks beside the running program. Fails with what is missing.
Result<run::InjectedFiles> find_injected_files();

// The averager's, for `headroom run --ranks`.
Result<run::AveragerFiles> find_averager_files();

// The folder whose program does the steps of `headroom test` in the user's Python.
Result<std::string> find_steps_program();

}  // namespace headroom::cli
