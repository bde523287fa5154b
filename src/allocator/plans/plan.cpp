// SPDX-License-Identifier: Apache-2.0
#include "allocator/plans/plan.h"

#include <algorithm>
#include <utility>

namespace headroom::allocator {

Plan::Plan(Iteration iteration, Layout layout)
    : iteration_(std::move(iteration)),
      layout_(std::move(layout)),
      first_expiring_(iteration_.size() + 2) {
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
  for (std::uint32_t i = 0; i < size(); ++i) least_[i] = std::min(least_[i], sizes[i]);
}

}  // namespace headroom::allocator
