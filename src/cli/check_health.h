// SPDX-License-Identifier: Apache-2.0
// `headroom check --health`: one line and an exit code for monitors.
#pragma once

#include <string>

#include "cli/commands.h"

namespace headroom::cli {

// Prints "ok: …" on standard output, whatever is the case, and returns the code of
// findings::Health.
int answer_health(const std::string& root, const std::string& python, const Context& context);

}  // namespace headroom::cli
