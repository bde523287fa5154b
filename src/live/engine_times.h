// SPDX-License-Identifier: Apache-2.0
// Turns the counters of DRM clients, which only grow, into how busy each process keeps a GPU.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "facts/gpu_work.h"

namespace headroom::live {

class EngineTimes {
 public:
  using ByProcess = std::map<std::uint64_t, std::vector<facts::ClientWork>>;  // By PID.
  using Shares = std::map<std::uint64_t, std::map<std::string, double>>;  // PID → GPU → share.

  // `now`: of a clock that is not set, such as CLOCK_MONOTONIC. A client that was not there last
  // time has no share yet.
  Shares look(const ByProcess& now_read, std::chrono::nanoseconds now);

 private:
  std::map<std::pair<std::string, std::uint64_t>, std::uint64_t> last_;  // By GPU and client.
  std::optional<std::chrono::nanoseconds> when_;
};

}  // namespace headroom::live
