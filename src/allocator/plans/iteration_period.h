// SPDX-License-Identifier: Apache-2.0
// An iteration can return to its level several times: where gradients are kept, each micro-batch
// ends as it began, and only the last of them is followed by the optimizer. What lies between two
// returns is a stretch. The period tells how many stretches an iteration has, from their lengths.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace headroom::allocator {

class IterationPeriod {
 public:
  // What lies between two returns to a level.
  struct Stretch {
    std::uint64_t allocations = 0;
    std::uint64_t inner = 0;  // Iterations that were found above the level.
    std::uint64_t kept = 0;   // Of the allocations: what is there for good, now and then.
  };
  // One has ended. Whether an iteration has ended with it.
  bool add(Stretch stretch);

  // Whether one of the last stretches had as many.
  bool knows(const Stretch& stretch) const;

  // Each stretch is an iteration again, the last one as well, until they come in the same order
  // once more.
  void give_up();

  // Of the iteration that has just ended.
  std::uint64_t allocations() const;
  // How many narrower ones it is made of; 0 if it is of one stretch, and none were found in that.
  std::uint64_t inner() const;
  // Whether it is the first of a kind that is made of narrower ones, which were taken for
  // iterations before.
  bool is_wider() const { return is_new_ || (period_ == 1 && stretches_.back().inner > 0); }
  // It has as many allocations as the one before it.
  bool is_steady() const;

 private:
  bool goes_back_by(std::size_t period) const;
  std::size_t find_period() const;

  std::vector<Stretch> stretches_;  // The last ones, in order.
  std::size_t period_ = 1;          // In stretches.
  std::size_t since_ = 0;           // Stretches since an iteration ended.
  bool is_new_ = false;
};

}  // namespace headroom::allocator
