// SPDX-License-Identifier: Apache-2.0
// headroom deploy --init: a SERVICE.toml to start from.
#pragma once

#include <string>

#include "cli/commands.h"

namespace headroom::cli {

// Writes SERVICE.toml into the current folder, and prints it. `what` is the name of a unit, or a
// unit, quadlet or compose file. Refuses to write over a file that has something in it. Returns the
// exit code.
int write_service_file(const std::string& what, const Context& context);

}  // namespace headroom::cli
