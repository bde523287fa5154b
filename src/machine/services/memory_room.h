// SPDX-License-Identifier: Apache-2.0
// How much memory the processes of a service may have: by the control group that they are in, and
// by the limit of each one's address space (setrlimit(2)).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/bytes.h"
#include "machine/services/process_list.h"

namespace headroom::machine {

struct MemoryRoom {
  Bytes used;                   // Resident, of all processes added up.
  std::optional<Bytes> limit;   // Of `used`: the smallest that is in force. Nothing: none is.
  std::uint64_t oom_kills = 0;  // That the control group of the first process has counted.
  // Those whose address space is nearly as large as they may make it: the next request fails.
  std::vector<std::uint64_t> nearly_full;
};

MemoryRoom read_memory_room(const std::vector<ListedProcess>& processes);

}  // namespace headroom::machine
