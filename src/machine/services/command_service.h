// SPDX-License-Identifier: Apache-2.0
// A service that plain commands start, stop and ask: `kind = "commands"` of a SERVICE.toml.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "machine/services/running_program.h"
#include "machine/services/service.h"

namespace headroom::machine {

struct CommandServiceOptions {
  std::string name;
  std::string folder;                     // Where the commands run.
  std::vector<std::string> environment;   // NAME=VALUE, ours.
  std::vector<std::string> start, stop;   // start returns when the service was started.
  std::vector<std::string> status, logs;  // Either may be empty.
  std::string pidfile;                    // Absolute; empty: none.
  std::string output_file;                // What `start` and what it leaves write to.
  // Programs that the caller runs: no part of the service. Null: there are none.
  std::shared_ptr<OwnCommands> own;
};

// Makes this process the subreaper of its descendants: once, and for good.
std::unique_ptr<Service> make_command_service(CommandServiceOptions options);

}  // namespace headroom::machine
