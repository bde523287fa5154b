// SPDX-License-Identifier: Apache-2.0
// How a process is called wherever reclaim speaks of it.
#pragma once

#include <string>

#include "plan/reclaim/measurement.h"

namespace headroom::plan {

// "python3 (PID 4711 of anna)".
std::string name_of(const Held& held);
std::string name_of(const Client& client);

}  // namespace headroom::plan
