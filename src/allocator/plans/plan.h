// SPDX-License-Identifier: Apache-2.0
// A kind of iteration and the places of its blocks, ready to be followed.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "allocator/plans/iteration.h"
#include "allocator/plans/layout.h"

namespace headroom::allocator {

// Of a block whose size varies, the largest is at most as many times the smallest.
inline constexpr std::uint64_t most_shrinking = 64;

// Immutable once made.
class Plan {
 public:
  // `iteration`: the sizes that the slots have; requires lay_out() to have been given the same.
  Plan(Iteration iteration, Layout layout);
  // The same, of which it is known that the blocks were of these sizes as well: where they are
  // smaller, sizes vary. Requires: one for each block, no larger than it.
  Plan(const Plan& plan, const std::vector<std::uint64_t>& sizes);

  std::uint32_t size() const { return static_cast<std::uint32_t>(iteration_.size()); }
  const Iteration& iteration() const { return iteration_; }
  const IterationBlock& block(std::uint32_t slot) const { return iteration_[slot]; }
  std::uint64_t offset(std::uint32_t slot) const { return layout_.offsets[slot]; }
  std::uint64_t bytes() const { return layout_.bytes; }
  StreamId stream() const { return layout_.stream; }
  // The least that was seen of each block.
  const std::vector<std::uint64_t>& least() const { return least_; }

  // Whether a request may be the one that the slot is for: of its size or, where that varies, of a
  // smaller one.
  bool expects(std::uint32_t slot, std::uint64_t bytes, StreamId stream) const {
    const IterationBlock& block = iteration_[slot];
    if (block.stream != stream || bytes > block.bytes) return false;
    const bool varies = least_[slot] < block.bytes;
    return bytes == block.bytes || (varies && bytes >= block.bytes / most_shrinking);
  }

  // The slots that are free again just before allocations `from` to `to` - 1.
  std::span<const std::uint32_t> expiring(std::uint32_t from, std::uint32_t to) const {
    return std::span(expiring_).subspan(first_expiring_[from],
                                        first_expiring_[to] - first_expiring_[from]);
  }

 private:
  Iteration iteration_;
  Layout layout_;
  std::vector<std::uint64_t> least_;
  // Those of allocation k: expiring_[first_expiring_[k]] to expiring_[first_expiring_[k + 1]].
  std::vector<std::uint32_t> first_expiring_;
  std::vector<std::uint32_t> expiring_;
};

using PlanPointer = std::shared_ptr<const Plan>;

}  // namespace headroom::allocator
