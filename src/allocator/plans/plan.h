// SPDX-License-Identifier: Apache-2.0
// A plan for one kind of iteration: the places of its blocks, in a form that a PlanFollower can use
// quickly. A block of the plan is called a slot.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "allocator/plans/iteration.h"
#include "allocator/plans/layout.h"

namespace headroom::allocator {

// If a block's size varies, the largest size is at most so many times the smallest.
inline constexpr std::uint64_t most_shrinking = 64;

// Immutable.
class Plan {
 public:
  // `iteration` has the sizes of the slots. Requires: `layout` is for an iteration of these sizes.
  Plan(Iteration iteration, Layout layout);
  // The same plan, with the knowledge that its blocks were also seen with these sizes; where one is
  // smaller, the block's size varies. Requires: one size for each block, no larger than it.
  Plan(const Plan& plan, const std::vector<std::uint64_t>& sizes);

  std::uint32_t size() const { return static_cast<std::uint32_t>(iteration_.size()); }
  const Iteration& iteration() const { return iteration_; }
  const IterationBlock& block(std::uint32_t slot) const { return iteration_[slot]; }
  std::uint64_t offset(std::uint32_t slot) const { return layout_.offsets[slot]; }
  std::uint64_t bytes() const { return layout_.bytes; }
  StreamId stream() const { return layout_.stream; }
  // The smallest size that was seen of each block.
  const std::vector<std::uint64_t>& least() const { return least_; }

  // Whether the slot may be meant for this request: it has the slot's size or, if that varies, a
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
  // Slots free again before allocation k are expiring_[first_expiring_[k]] to
  // expiring_[first_expiring_[k + 1] - 1].
  std::vector<std::uint32_t> first_expiring_;
  std::vector<std::uint32_t> expiring_;
};

using PlanPointer = std::shared_ptr<const Plan>;

}  // namespace headroom::allocator
