// SPDX-License-Identifier: Apache-2.0
// A service of a compose file, by Docker or Podman: `kind = "compose"` of a SERVICE.toml.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "machine/services/containers.h"
#include "machine/services/service.h"

namespace headroom::machine {

struct ComposeServiceOptions {
  std::string file;     // Absolute.
  std::string service;  // Its name in the file.
  // Its project, unless containers of this file say another one.
  std::string project;
  std::vector<std::string> profiles;  // Of the service.
  std::vector<std::string> environment;
  std::shared_ptr<OwnCommands> own;
};

// Takes the engine that has a container of this service, else the first that answers. Fails as
// Containers::find_tools() does. Every call of the service fails with unsupported where it has more
// than one container: what one of them did could not be told from what another one did.
Result<std::unique_ptr<Service>> make_compose_service(const ComposeServiceOptions& options);

}  // namespace headroom::machine
