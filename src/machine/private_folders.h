// SPDX-License-Identifier: Apache-2.0
// Folders for what a person's programs keep (XDG Base Directory Specification).
#pragma once

#include <string>

#include "base/result.h"

namespace headroom::machine {

// Makes the folders above the file `path` that are missing, for their owner alone (0700). Those
// that are there stay as they are.
Status make_private_folders_above(const std::string& path);

}  // namespace headroom::machine
