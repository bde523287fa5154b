// SPDX-License-Identifier: Apache-2.0
#include "allocator/plans/plan.h"

#include <algorithm>
#include <utility>

#include "base/require.h"

namespace headroom::allocator {

Plan::Plan(Iteration iteration, Layout layout)
    : iteration_(std::move(iteration)),
      layout_(std::move(layout)),
      first_expiring_(iteration_.size() + 2) {
  require(layout_.offsets.size() == iteration_.size(),
          "a plan's layout has an offset for each block of its iteration");
  for (const IterationBlock& block : iteration_) least_.push_back(block.bytes);
  const auto placed = [this](std::uint32_t i) {
    return layout_.offsets[i] != Layout::nowhere && iteration_[i].dies != IterationBlock::never;
  };
  for (std::uint32_t i = 0; i < size(); ++i)
    if (placed(i)) ++first_expiring_[iteration_[i].dies + 1];
  for (std::size_t k = 1; k < first_expiring_.size(); ++k)
    first_expiring_[k] += first_expiring_[k - 1];
  expiring_.resize(first_expiring_.back());
  std::vector<std::uint32_t> filled = first_expiring_;
  for (std::uint32_t i = 0; i < size(); ++i)
    if (placed(i)) expiring_[filled[iteration_[i].dies]++] = i;
}

Plan::Plan(const Plan& plan, const std::vector<std::uint64_t>& sizes) : Plan(plan) {
  require(sizes.size() == size(), "a plan learns a size for each of its blocks");
  for (std::uint32_t i = 0; i < size(); ++i) {
    require(sizes[i] <= iteration_[i].bytes, "a block is no larger than its slot");
    least_[i] = std::min(least_[i], sizes[i]);
  }
}

}  // namespace headroom::allocator
