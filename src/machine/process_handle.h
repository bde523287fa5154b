// SPDX-License-Identifier: Apache-2.0
// Holding on to one process of this system, so that a signal reaches it and never a later one that
// got its number (pidfd_open(2), Linux 5.3).
#pragma once

#include <cstdint>

#include "base/result.h"
#include "machine/descriptor.h"

namespace headroom::machine {

class ProcessHandle {
 public:
  // Fails with not_found if there is no such process, with unsupported on older kernels. Whoever
  // wants a certain process reads /proc/PID/stat afterwards: while this is held, what stands there
  // is its own or, once it has ended, a later one's.
  static Result<ProcessHandle> open(std::uint64_t pid);

  enum class Signal { terminate, kill };
  // Fails with no_permission, or with not_found once it has ended.
  Status send(Signal signal) const;
  // Waits until it has ended, at most so long; whether it has. 0 only looks.
  bool wait_ended(std::uint64_t timeout_ms) const;

 private:
  explicit ProcessHandle(Descriptor descriptor) : descriptor_(std::move(descriptor)) {}
  Descriptor descriptor_;
};

// The number of this process.
std::uint64_t own_pid();

}  // namespace headroom::machine
