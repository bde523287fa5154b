// SPDX-License-Identifier: Apache-2.0
// The service of a compose file that a SERVICE.toml names.
#pragma once

#include <memory>

#include "base/result.h"
#include "deploy/spec.h"
#include "machine/services/service.h"
#include "service/make_service.h"

namespace headroom::service {

// Reads the file, for its project, and finds the engine. Fails where either cannot be.
Result<std::unique_ptr<machine::Service>> make_compose(const deploy::ServiceName& name,
                                                       const ServicePlace& place);

}  // namespace headroom::service
