// SPDX-License-Identifier: Apache-2.0
// An iteration can return to its level several times: where gradients are kept, each micro-batch
// ends as it began, and only the last of them is followed by the optimizer. What lies between two
// returns is a stretch. The rhythm tells how many stretches an iteration has, from their lengths.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace headroom::allocator {

class Rhythm {
 public:
  // A stretch of so many allocations has ended. Whether an iteration has ended with it.
  bool add(std::uint64_t allocations);

  // Whether one of the last stretches had so many.
  bool knows(std::uint64_t allocations) const;

  // Of the iteration that has just ended.
  std::uint64_t allocations() const;
  // It is the first of several stretches after iterations of one.
  bool is_new() const { return is_new_; }
  // It has as many allocations as the one before it.
  bool is_steady() const;

 private:
  bool goes_back_by(std::size_t period) const;
  std::size_t find_period() const;

  std::vector<std::uint64_t> lengths_;  // Of the last stretches, in order.
  std::size_t period_ = 1;              // In stretches.
  std::size_t since_ = 0;               // Stretches since an iteration ended.
  bool is_new_ = false;
};

}  // namespace headroom::allocator
