// SPDX-License-Identifier: Apache-2.0
// Finds how many stretches an iteration has, from their lengths. A stretch is what lies between two
// returns to a level, and one iteration can return to its level several times: if gradients are
// kept between steps, each micro-batch ends at the level where it began, and only the last one is
// followed by the optimizer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace headroom::allocator {

class IterationPeriod {
 public:
  // The allocations between two returns to a level.
  struct Stretch {
    std::uint64_t allocations = 0;
    std::uint64_t inner = 0;  // Iterations found above the level meanwhile.
    // Allocations that the job kept for good. Their number varies, so lengths are compared without
    // them.
    std::uint64_t kept = 0;
  };
  // Adds a stretch that has just ended. Returns whether an iteration ended with it.
  bool add(Stretch stretch);

  // Whether one of the last stretches had as many allocations.
  bool knows(const Stretch& stretch) const;

  // Counts each stretch as an iteration again, including the last one, until a period is found once
  // more.
  void give_up();

  // The allocations of the iteration that has just ended.
  std::uint64_t allocations() const;
  // How many narrower iterations it is made of; 0 if it is a single stretch in which none were
  // found.
  std::uint64_t inner() const;
  // Whether it is the first of a kind that is made of what were taken for iterations until now.
  bool is_wider() const { return is_new_ || (period_ == 1 && stretches_.back().inner > 0); }
  // Whether it has as many allocations as the iteration before it.
  bool is_steady() const;

 private:
  bool goes_back_by(std::size_t period) const;
  std::size_t find_period() const;

  std::vector<Stretch> stretches_;  // The most recent ones, in order.
  std::size_t period_ = 1;          // Stretches per iteration.
  std::size_t since_ = 0;           // Stretches since an iteration ended.
  bool is_new_ = false;
};

}  // namespace headroom::allocator
