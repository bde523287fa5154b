// SPDX-License-Identifier: Apache-2.0
// What this process may still take of the machine's memory, and of the memory of each control group
// that it is in. A few small files, so that it can be asked while memory is being taken.
#pragma once

#include <vector>

#include "facts/memory_room.h"
#include "machine/files.h"

namespace headroom::probe {

// Empty where neither /proc/meminfo nor a limit can be read: then nothing is known. In groups of
// version 2 memory.high is a limit as well: beyond it the kernel lets them all but stand still.
std::vector<facts::MemoryRoom> read_memory_rooms(const machine::Files& files);

}  // namespace headroom::probe
