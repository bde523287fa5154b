// SPDX-License-Identifier: Apache-2.0
// Tells a process from a later one with the same number.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"

namespace headroom::allocator {

struct ProcessIdentity {
  std::uint64_t pid = 0;
  std::uint64_t start_ticks = 0;    // Field 22 of /proc/PID/stat.
  std::uint64_t pid_namespace = 0;  // In which the number counts: the inode of /proc/self/ns/pid.
  std::string command = {};         // As the kernel has it: at most 15 bytes.
};

// Fails without /proc.
Result<ProcessIdentity> read_own_identity();

// When the process with this number, in this process's namespace, started; nothing if there is
// none, or if it has ended and is a zombie.
std::optional<std::uint64_t> read_start_ticks(std::uint64_t pid);

}  // namespace headroom::allocator
