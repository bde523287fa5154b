// SPDX-License-Identifier: Apache-2.0
// Who has the GPUs open and what shows a picture with them, for reclaim.
#pragma once

#include <cstdint>

#include "facts/facts.h"
#include "facts/occupancy.h"
#include "machine/files.h"

namespace headroom::probe {

// `own_pid` is this program's, 0 where the machine is a captured one. Of debugfs only folders are
// listed, and no file is opened.
facts::Occupancy read_occupancy(const machine::Files& files, const std::vector<facts::Gpu>& gpus,
                                std::uint64_t own_pid);

}  // namespace headroom::probe
