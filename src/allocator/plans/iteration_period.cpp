// SPDX-License-Identifier: Apache-2.0
#include "allocator/plans/iteration_period.h"

#include <algorithm>
#include <numeric>

namespace headroom::allocator {
namespace {

constexpr std::size_t most_stretches = 64;
constexpr std::size_t recent_stretches = 16;

bool are_alike(const IterationPeriod::Stretch& a, const IterationPeriod::Stretch& b) {
  return a.allocations - a.kept == b.allocations - b.kept;
}

}  // namespace

// Whether the last `period` stretches are as long as those before them.
bool IterationPeriod::goes_back_by(std::size_t period) const {
  if (stretches_.size() < 2 * period) return false;
  const auto end = stretches_.end();
  const auto count = static_cast<std::ptrdiff_t>(period);
  return std::equal(end - count, end, end - 2 * count, are_alike);
}

std::size_t IterationPeriod::find_period() const {
  for (std::size_t period = 2; period <= most_stretches; ++period) {
    if (goes_back_by(period)) return period;
  }
  return 1;
}

bool IterationPeriod::add(Stretch stretch) {
  if (stretches_.size() == 4 * most_stretches)
    stretches_.erase(stretches_.begin(), stretches_.begin() + 2 * most_stretches);
  stretches_.push_back(stretch);
  is_new_ = false;
  const std::size_t last = stretches_.size() - 1;
  if (period_ > 1) {
    if (are_alike(stretches_[last], stretches_[last - period_])) {
      since_ = (since_ + 1) % period_;
      return since_ == 0;
    }
    period_ = 1;
  }
  // If all stretches are equal, each is an iteration. A longer period can end only with a stretch
  // that differs from the one before it.
  if (last > 0 && !are_alike(stretches_[last], stretches_[last - 1])) period_ = find_period();
  is_new_ = period_ > 1;
  since_ = 0;
  return true;
}

void IterationPeriod::give_up() {
  period_ = 1;
  is_new_ = false;
}

bool IterationPeriod::knows(const Stretch& stretch) const {
  const std::size_t looked_at = std::min(stretches_.size(), recent_stretches);
  return std::any_of(stretches_.end() - static_cast<std::ptrdiff_t>(looked_at), stretches_.end(),
                     [&](const Stretch& each) { return are_alike(each, stretch); });
}

std::uint64_t IterationPeriod::allocations() const {
  return std::accumulate(
      stretches_.end() - static_cast<std::ptrdiff_t>(period_), stretches_.end(), std::uint64_t{0},
      [](std::uint64_t sum, const Stretch& each) { return sum + each.allocations; });
}

std::uint64_t IterationPeriod::inner() const {
  if (period_ == 1) return stretches_.back().inner;
  return std::accumulate(stretches_.end() - static_cast<std::ptrdiff_t>(period_), stretches_.end(),
                         std::uint64_t{0}, [](std::uint64_t sum, const Stretch& each) {
                           return sum + std::max<std::uint64_t>(1, each.inner);
                         });
}

bool IterationPeriod::is_steady() const {
  return goes_back_by(period_);
}

}  // namespace headroom::allocator
