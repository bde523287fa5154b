// SPDX-License-Identifier: Apache-2.0
// Random programs that partly repeat, as training does: iterations with deviations, blocks that are
// used by several streams, retags, double frees, refused requests and failing device calls, over
// host memory whose contents are checked. What they find is a byte that was lost, or an invariant
// that does not hold.
#pragma once

#include <cstdint>
#include <string>

namespace headroom::allocator::testing {

struct ProgramOptions {
  std::uint64_t operations = 20000;  // Of all threads together.
  unsigned threads = 1;
  std::uint32_t seed = 1;
  bool virtual_memory = true;
  bool planning = true;
  bool faults = true;
  std::uint64_t capacity_bytes = std::uint64_t{64} << 20U;  // Some jobs get more or less.
};

struct ProgramResult {
  // What did not hold, with the seed that shows it within one job; empty if all did.
  std::string broken;
  // That something was tested at all.
  std::uint64_t operations = 0;
  std::uint64_t refused = 0;
  std::uint64_t repairs = 0;
  std::uint64_t flushes = 0;
  std::uint64_t waits = 0;
  std::uint64_t plans = 0;
  std::uint64_t planned = 0;
  std::uint64_t plans_broken = 0;
};

ProgramResult run_program(const ProgramOptions& options);

}  // namespace headroom::allocator::testing
