// SPDX-License-Identifier: Apache-2.0
// What the files of a service say of it now: the settings that `headroom tune` starts from.
#pragma once

#include <string>

#include "base/result.h"
#include "deploy/spec.h"
#include "tune/space.h"

namespace headroom::service {

// Reads the files in which SERVICE.toml's [[tune]] settings stand and, for variables and options
// without a file, the compose file or the unit or quadlet of its [[change]]. Fails with what is
// wrong with one of them.
Result<tune::Present> read_present(const deploy::ServiceSpec& spec, const std::string& folder);

}  // namespace headroom::service
