// SPDX-License-Identifier: Apache-2.0
// The processes that hold GPU memory, from the tables that tools print: rocm-smi, amd-smi, nvtop.
#pragma once

#include <vector>

#include "findings/causes/device_memory.h"

namespace headroom::findings {

// Adds a holder for each row.
void add_listed_processes(const logs::Observations& log, std::vector<SeenHolder>& holders);

}  // namespace headroom::findings
