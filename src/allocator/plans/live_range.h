// SPDX-License-Identifier: Apache-2.0
// How far what is live falls and rises again, where it does so most. Waves of less than half of
// that are part of something larger. A fall counts only for some time: a job that comes after a
// larger one, or after one large model was unloaded, has a range of its own.
#pragma once

#include <algorithm>
#include <cstdint>

namespace headroom::allocator {

class LiveRange {
 public:
  // In allocations. A step of a model of 80 layers has some 5,000, and a large fall in each half.
  static constexpr std::uint64_t memory = 4096;

  // What is live has risen again by half of `fall`, at this allocation. Whether that was a large
  // one.
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
  std::uint64_t recent_ = 0;  // The largest since the last large one.
  std::uint64_t last_ = 0;    // Where that was.
};

}  // namespace headroom::allocator
