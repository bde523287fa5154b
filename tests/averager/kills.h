// SPDX-License-Identifier: Apache-2.0
// Jobs of which one rank is killed or stopped at a random moment, and what became of the others.
#pragma once

#include <cstdint>

namespace headroom::averager::testing {

struct Kills {
  std::uint32_t tried = 0;
  std::uint32_t hung = 0;         // A rank had not ended in time, or a stopped one was still there.
  std::uint32_t wrong = 0;        // A survivor found a wrong average, or could not go on.
  std::uint32_t left_behind = 0;  // The segment was still in /dev/shm.
};

struct KillPlan {
  std::uint32_t count = 20;
  std::uint32_t seed = 1;
  std::uint32_t ranks = 3;
  std::uint32_t silent_ms = 2000;   // After which a stopped rank is taken for dead.
  std::uint32_t limit_ms = 60'000;  // After which a survivor hangs.
};

// Every other one is SIGSTOP; every third job averages in pieces. The moment is up to 20 ms after
// the first bucket is done.
Kills run_kills(const KillPlan& plan);

}  // namespace headroom::averager::testing
