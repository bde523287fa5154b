// SPDX-License-Identifier: Apache-2.0
// The service that a SERVICE.toml names, by whoever manages it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "deploy/spec.h"
#include "machine/services/running_program.h"
#include "machine/services/service.h"

namespace headroom::service {

struct ServicePlace {
  std::string folder;                         // Of SERVICE.toml.
  std::vector<std::string> environment;       // NAME=VALUE, of this process.
  std::string output_file;                    // What `start` leaves writes to.
  std::shared_ptr<machine::OwnCommands> own;  // Commands of ours: no part of the service.
};

// Fails with unsupported where this build cannot manage such services.
Result<std::unique_ptr<machine::Service>> make_service(const deploy::ServiceName& name,
                                                       const ServicePlace& place);

}  // namespace headroom::service
