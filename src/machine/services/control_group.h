// SPDX-License-Identifier: Apache-2.0
// The processes of a control group of this system, and of those below it.
#pragma once

#include <string>
#include <vector>

#include "machine/services/process_list.h"

namespace headroom::machine {

// `group` as systemd names it: "/system.slice/photos.service". Looks in the unified hierarchy, or
// in systemd's own of version 1. Empty where it has none, or is not there.
std::vector<ListedProcess> processes_of_group(const std::string& group);

}  // namespace headroom::machine
