// SPDX-License-Identifier: Apache-2.0
// What carrying out a reclaim asks of the system: one interface, so that all of it can be tried on
// a simulated kernel. Nothing blocks for longer than its deadline says.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "plan/reclaim/measurement.h"

namespace headroom::reclaim {

enum class Signal { terminate, kill };

class Kernel {
 public:
  Kernel() = default;
  Kernel(const Kernel&) = delete;
  Kernel& operator=(const Kernel&) = delete;
  virtual ~Kernel() = default;

  // Milliseconds since some moment; never goes back.
  virtual std::uint64_t now_ms() = 0;
  virtual void wait_ms(std::uint64_t duration_ms) = 0;

  virtual Result<plan::Measurement> measure() = 0;

  // Takes hold of exactly the process that has this PID and began at this time, so that no later
  // one of the same number can be meant. Fails with not_found if it is gone or another one by now.
  // The number is this interface's own, good until the Kernel goes.
  virtual Result<int> hold(std::uint64_t pid, std::uint64_t start_ticks) = 0;
  // Fails with no_permission, or not_found once it has ended.
  virtual Status send(int held, Signal signal) = 0;
  // Waits until it has ended, at most so long; whether it has.
  virtual bool wait_ended(int held, std::uint64_t timeout_ms) = 0;
  // 'D' and the like, '?' where it cannot be read.
  virtual char state(int held) = 0;

  // One write to a file of /sys or /proc. Fails with busy past the deadline: then the write goes on
  // in the kernel, and nobody can stop it.
  virtual Status write(const std::string& path, const std::string& text,
                       std::uint64_t timeout_ms) = 0;
  // Fails with busy past the deadline, invalid where it ended with another status than 0.
  virtual Status run(const std::vector<std::string>& argv, std::uint64_t timeout_ms) = 0;
  // Has the driver reset the GPU of /dev/dri/cardN. Fails with busy past the deadline.
  virtual Status reset_gpu(std::uint64_t card, std::uint64_t timeout_ms) = 0;
};

}  // namespace headroom::reclaim
