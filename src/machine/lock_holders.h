// SPDX-License-Identifier: Apache-2.0
// Who holds the advisory lock on a file: by what processes of this system have open, because the
// lock stays with the programs that its taker started, and they outlive it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace headroom::machine {

struct LockHolder {
  std::uint64_t pid = 0;
  std::string command;   // As it was started, words joined; "" where that cannot be read.
  bool took_it = false;  // The process that took the lock itself, not one that it started.
};

// The processes that hold a flock(2) on the file open at `fd`, by their numbers. Only those that
// this user may look into: all of them for root.
std::vector<LockHolder> find_lock_holders(int fd);

// "update-grub (process 1234), sleep (process 1235)"; "another process" of none.
std::string describe(const std::vector<LockHolder>& holders);

}  // namespace headroom::machine
