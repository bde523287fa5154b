// SPDX-License-Identifier: Apache-2.0
// Leave to take memory of this machine. The kernel gives what it does not have and then kills, and
// pages of a memory file that nobody has touched yet are in nobody's resident set: it kills the
// bystanders, one after the other. (Such pages are charged to the control group of who first takes
// them, whatever the size of /dev/shm.) So whoever takes pages asks before, in slices, and is
// refused while there still is something left.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "base/result.h"
#include "facts/memory_room.h"

namespace headroom::allocator {

// Not thread-safe.
class HostMemory {
 public:
  // What is left now, of the machine and of each control group; empty where nobody knows.
  using Ask = std::function<std::vector<facts::MemoryRoom>()>;

  explicit HostMemory(Ask ask) : ask_(std::move(ask)) {}
  // Asks /proc/meminfo and the control groups of this process.
  static Result<HostMemory> of_this_machine();

  // How many of `wanted` bytes may be taken now, which is at least a page; ask again for the rest.
  // `wanted` is a multiple of page_bytes. `held`: what the caller has already, for the message.
  // Fails with out_of_memory where there is no room for all that is wanted.
  //
  // What is granted is at most a quarter of the room that is left, and of the reserve: several
  // processes that take memory at the same time, each of which sees the same figures, find out in
  // time, and so does one that comes back to the rest of a grant after others have taken memory. It
  // is at most 64 MiB, which take the kernel a hundred times as long to fill as asking takes.
  Result<std::uint64_t> grant(std::uint64_t wanted, std::uint64_t held);

 private:
  Ask ask_;
  std::uint64_t granted_ = 0;  // And not taken yet.
};

}  // namespace headroom::allocator
