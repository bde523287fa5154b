// SPDX-License-Identifier: Apache-2.0
// Whether a command still does anything: output, processor time or work on a GPU. Processes that
// hang wake up now and then (timers, threads that poll), so that a little processor time is none.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "supervisor/policy.h"

namespace headroom::supervisor {

// What counts as noise: one percent of one processor, and 50 ms beside, which is five of the clock
// ticks that the kernel counts in. Python with its threads asleep uses a tenth of it.
inline constexpr double noise_share = 0.01;
inline constexpr std::uint64_t noise_ms = 50;

// Counters that only grow. One thread.
class HangWatch {
 public:
  explicit HangWatch(std::optional<Time> limit) : limit_(limit) {}

  void begin(Time now);
  // True if nothing was done for as long as the limit. Time in which nobody looked counts for at
  // most a quarter of the limit: whoever stops the command (a terminal's ^Z, a debugger) stops
  // headroom with it.
  bool add(std::uint64_t output_bytes, std::uint64_t processor_ms, std::uint64_t gpu_ms, Time now);

  // "no output, 12 ms of processor time and no GPU activity in 60 s".
  std::string describe() const;

 private:
  struct Counters {
    std::uint64_t output_bytes = 0, processor_ms = 0, gpu_ms = 0;
  };
  bool is_work(const Counters& counters, Time now) const;

  std::optional<Time> limit_;
  std::optional<Counters> since_;  // When it last did something.
  std::uint64_t used_ms_ = 0;      // Of the processor since then.
  Time worked_{0}, looked_{0}, quiet_{0};
};

}  // namespace headroom::supervisor
