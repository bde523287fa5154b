// SPDX-License-Identifier: Apache-2.0
// The processor, and how much of it this process gets.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace headroom::machine {

// What the processor calls itself (/proc/cpuinfo), printable and without double blanks; "unknown
// processor" where it does not say.
std::string processor_name();

// How long each thread of this process, by its id, has been ready to run while others had the
// processors (/proc/PID/task/TID/schedstat, the kernel's Documentation/scheduler/sched-stats.rst).
// Empty where the kernel does not count that.
std::map<int, std::uint64_t> waited_ns();

// Time with and without what was waited meanwhile.
struct Stretch {
  double wall_s = 0;
  double most_waited_s = 0;  // By the thread that waited most.
  // Without the waiting, as if threads had waited independently of each other, all of them stopping
  // whenever one did.
  double quiet_s = 0;

  double waited_share() const { return wall_s > 0 ? 1 - quiet_s / wall_s : 0; }
};

// Counts from its making or the last call of take().
class QuietClock {
 public:
  QuietClock();
  Stretch take();

 private:
  std::uint64_t start_ns_;
  std::map<int, std::uint64_t> waited_;
};

}  // namespace headroom::machine
