// SPDX-License-Identifier: Apache-2.0
// Host memory that a step takes beside the device's (trainer/host_domain.h), counted in blocks as
// its allocator counts them.
#pragma once

#include <algorithm>
#include <cstdint>

#include "allocator/component.h"
#include "base/bytes.h"

namespace headroom::estimate {

struct HostPeak {
  std::uint64_t bytes = 0;
  allocator::ByComponent components;  // At the peak; they add up to it.
};

class HostTally {
 public:
  void take(std::uint64_t bytes, allocator::Component component) {
    live_.bytes += block_of(bytes);
    live_.components[component] += block_of(bytes);
    if (live_.bytes > peak_.bytes) peak_ = live_;
  }
  // Requires: it was taken.
  void give_back(std::uint64_t bytes, allocator::Component component) {
    live_.bytes -= block_of(bytes);
    live_.components[component] -= block_of(bytes);
  }
  const HostPeak& peak() const { return peak_; }

 private:
  static std::uint64_t block_of(std::uint64_t bytes) {
    constexpr std::uint64_t block = 512;
    return round_up(std::max<std::uint64_t>(bytes, 1), block);
  }

  HostPeak live_, peak_;
};

}  // namespace headroom::estimate
