// SPDX-License-Identifier: Apache-2.0
// What the commands take from the shell that they were started from.
#pragma once

#include <string>

#include "cli/commands.h"
#include "probe/read_shell.h"

namespace headroom::cli {

// `python` as typed: a relative path is the shell's; of a captured machine it is one from its root.
probe::Surroundings make_surroundings(const Context& context, const std::string& python,
                                      bool real_root);

// The user's folder for what outlives a restart: the journal of changes, the history of runs. Empty
// where neither XDG_STATE_HOME nor HOME says.
std::string state_folder(const Context& context);
// Where deployments keep their records: of root the system's, beside the journal of changes.
std::string deployments_folder(const Context& context);

}  // namespace headroom::cli
