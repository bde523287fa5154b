// SPDX-License-Identifier: Apache-2.0
// Reads which processes have the GPUs open and what uses them for a display, for reclaim.
#pragma once

#include <cstdint>

#include "facts/facts.h"
#include "facts/occupancy.h"
#include "machine/files.h"

namespace headroom::probe {

// `own_pid` is this program's PID, or 0 for a captured machine. In debugfs only folders are listed;
// no file is opened.
facts::Occupancy read_occupancy(const machine::Files& files, const std::vector<facts::Gpu>& gpus,
                                std::uint64_t own_pid);

}  // namespace headroom::probe
