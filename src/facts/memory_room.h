// SPDX-License-Identifier: Apache-2.0
// What is left of the memory that the kernel lets a process have: the machine's, and that of each
// control group it is in. Whoever is about to take much asks this before, because beyond it the
// kernel does not refuse: it kills, and not always the one who took.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "facts/kernel_text.h"

namespace headroom::facts {

// One bound on memory.
struct MemoryRoom {
  std::string whose;  // "this machine", "the control group /user.slice".
  Bytes total;        // The RAM, or the group's limit.
  Bytes left;         // What can still be taken without anything being swapped or killed.
  Bytes reserve;      // Of that, what stays for everybody else.

  Bytes room() const { return saturating_sub(left, reserve); }
  // What could be taken if nobody else held anything.
  Bytes most() const { return saturating_sub(total, reserve); }
};

// What stays free of the machine's memory: a 32nd of the RAM, 256 MiB at least and 2 GiB at most.
// The kernel needs some for itself (vm.min_free_kbytes; page tables and caches grow with the job),
// and so do a desktop or an sshd by which somebody can end the job. Below some 200 MiB a machine
// without swap evicts the programs that it is running; above 2 GiB nobody has a use for more.
Bytes machine_reserve(Bytes ram);

// The same of a control group: a 32nd of its limit, 32 MiB at least and 2 GiB at most. There is no
// system in it, only the job's own heap, its threads and what runs beside it.
Bytes group_reserve(Bytes limit);

// Nothing where the kernel does not say both figures. Swap does not count: a job whose tensors are
// swapped out does not get on.
std::optional<MemoryRoom> machine_room(const Meminfo& memory);

// The three files of a control group: a limit (memory.max, memory.limit_in_bytes, …), the usage
// that it is a limit of, and memory.stat. The page cache of files does not count as used, since the
// kernel takes it back before it kills; memory files and tmpfs do, whatever the statistics call
// them (Documentation/admin-guide/cgroup-v2.rst: "file" includes tmpfs, the lists of files do not).
// Nothing where there is no limit, or one of the first two files makes no sense.
std::optional<MemoryRoom> group_room(const std::string& group, const Text& limit, const Text& usage,
                                     const Text& stat);

// The one that is used up first; null where there is none.
const MemoryRoom* tightest(const std::vector<MemoryRoom>& rooms);

}  // namespace headroom::facts
