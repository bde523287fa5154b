// SPDX-License-Identifier: Apache-2.0
// Measures the largest waves of live memory: how far it falls and rises again. Waves of less than
// half that height are part of a larger pattern. A fall is forgotten after some time, so that a job
// that follows a larger one, or the unloading of a large model, is measured on its own.
#pragma once

#include <algorithm>
#include <cstdint>

namespace headroom::allocator {

class LiveRange {
 public:
  // After so many allocations a fall is forgotten. A step of a model with 80 layers has some 5,000,
  // with a large fall in each half.
  static constexpr std::uint64_t memory = 4096;

  // Notes that live memory has fallen by `fall`, and returns whether that was a large fall.
  // `allocation` is where it was lowest.
  bool add(std::uint64_t fall, std::uint64_t allocation) {
    recent_ = std::max(recent_, fall);
    if (allocation > last_ + memory) largest_ = recent_;
    if (fall * 2 < largest_) return false;
    largest_ = std::max(largest_, fall);
    last_ = allocation;
    recent_ = 0;
    return true;
  }
  std::uint64_t bytes() const { return largest_; }

 private:
  std::uint64_t largest_ = 0;
  std::uint64_t recent_ = 0;  // The largest fall since the last large one.
  std::uint64_t last_ = 0;    // The allocation at the last large fall.
};

}  // namespace headroom::allocator
