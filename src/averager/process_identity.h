// SPDX-License-Identifier: Apache-2.0
// A process by its number and the moment it started, so that a later one with the same number is
// not taken for it.
#pragma once

#include <cstdint>
#include <optional>

namespace headroom::averager {

struct ProcessIdentity {
  std::uint64_t pid = 0;
  std::uint64_t started = 0;  // Clock ticks since boot: field 22 of proc_pid_stat(5).
  bool operator==(const ProcessIdentity&) const = default;
};

ProcessIdentity own_identity();

// Whether the process is there and has not ended; one that waits to be reaped has.
bool is_running(const ProcessIdentity& process);

// The number of the namespace that this process's numbers are of; 0 if it cannot be told.
std::uint64_t pid_namespace();

}  // namespace headroom::averager
