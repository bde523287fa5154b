// SPDX-License-Identifier: Apache-2.0
// Names of files as this system sees them.
#pragma once

#include <string>

#include "base/result.h"

namespace headroom::machine {

// The absolute path without links on it. Fails where nothing is there.
Result<std::string> real_path(const std::string& path);

// Whether this user may put another file in the place of this one, or of nothing: its nearest
// folder that is there lets them write.
bool may_replace(const std::string& path);

}  // namespace headroom::machine
