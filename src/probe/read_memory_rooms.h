// SPDX-License-Identifier: Apache-2.0
// Reads how much memory this process may still take from the machine, and from each control group
// that it is in. It reads a few small files, so it can be called while memory is being taken.
#pragma once

#include <vector>

#include "facts/memory_room.h"
#include "machine/files.h"

namespace headroom::probe {

// Returns an empty list if neither /proc/meminfo nor any limit can be read. In version 2,
// memory.high counts as a limit as well: above it the kernel slows a group down until it hardly
// runs.
std::vector<facts::MemoryRoom> read_memory_rooms(const machine::Files& files);

}  // namespace headroom::probe
