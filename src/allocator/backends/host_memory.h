// SPDX-License-Identifier: Apache-2.0
// Decides whether memory of this machine may be taken. The kernel grants memory that it does not
// have and later kills processes. Pages of a memory file that nobody has mapped are in no process's
// resident set, so the kernel kills bystanders one after the other. (Such pages are charged to the
// control group of the process that first takes them, whatever the size of /dev/shm.) So pages are
// taken only after asking here, in slices, and requests are refused while some memory is still
// left.
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
  // Returns what is left now of the machine and of each control group; empty if it is not known.
  using Ask = std::function<std::vector<facts::MemoryRoom>()>;

  explicit HostMemory(Ask ask) : ask_(std::move(ask)) {}
  // Asks /proc/meminfo and the control groups of this process.
  static Result<HostMemory> of_this_machine();

  // Returns how many of the `wanted` bytes may be taken now, at least a page; ask again for the
  // rest. `wanted` is a multiple of page_bytes. `held` is what the caller has already, for the
  // message. Fails with out_of_memory if there is no room for all that is wanted.
  //
  // A grant is at most a quarter of the room that is left, and a quarter of the reserve. So several
  // processes that take memory at once, all seeing the same figures, notice in time that it gets
  // short, and so does one that uses the rest of a grant after others have taken memory. A grant is
  // also at most 64 MiB, which take a hundred times as long to fill as asking takes.
  Result<std::uint64_t> grant(std::uint64_t wanted, std::uint64_t held);

 private:
  Ask ask_;
  std::uint64_t granted_ = 0;  // And not taken yet.
};

// How many bytes of the machine's memory may be taken now, as far as the machine and the control
// groups of this process have some left beside what stays for everybody else. Of RAM at least
// `kept` stay. Fails with unsupported if the kernel does not say.
Result<std::uint64_t> read_machine_room(Bytes kept);

}  // namespace headroom::allocator
