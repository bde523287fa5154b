// SPDX-License-Identifier: Apache-2.0
#include "allocator/rhythm.h"

#include <algorithm>
#include <numeric>

namespace headroom::allocator {
namespace {

constexpr std::size_t most_stretches = 64;
constexpr std::size_t recent_stretches = 16;

}  // namespace

// Whether the last `period` stretches are as long as those before them.
bool Rhythm::goes_back_by(std::size_t period) const {
  if (lengths_.size() < 2 * period) return false;
  const auto end = lengths_.end();
  const auto count = static_cast<std::ptrdiff_t>(period);
  return std::equal(end - count, end, end - 2 * count);
}

std::size_t Rhythm::find_period() const {
  for (std::size_t period = 2; period <= most_stretches; ++period) {
    if (goes_back_by(period)) return period;
  }
  return 1;
}

bool Rhythm::add(std::uint64_t allocations) {
  if (lengths_.size() == 4 * most_stretches)
    lengths_.erase(lengths_.begin(), lengths_.begin() + 2 * most_stretches);
  lengths_.push_back(allocations);
  is_new_ = false;
  const std::size_t last = lengths_.size() - 1;
  if (period_ > 1) {
    if (lengths_[last] == lengths_[last - period_]) {
      since_ = (since_ + 1) % period_;
      return since_ == 0;
    }
    period_ = 1;
  }
  // Equal stretches are a rhythm of their own. Only one that is not like the one before it can end
  // a longer one.
  if (last > 0 && lengths_[last] != lengths_[last - 1]) period_ = find_period();
  is_new_ = period_ > 1;
  since_ = 0;
  return true;
}

bool Rhythm::knows(std::uint64_t allocations) const {
  const auto looked_at = static_cast<std::ptrdiff_t>(std::min(lengths_.size(), recent_stretches));
  return std::find(lengths_.end() - looked_at, lengths_.end(), allocations) != lengths_.end();
}

std::uint64_t Rhythm::allocations() const {
  const auto count = static_cast<std::ptrdiff_t>(period_);
  return std::accumulate(lengths_.end() - count, lengths_.end(), std::uint64_t{0});
}

bool Rhythm::is_steady() const {
  return goes_back_by(period_);
}

}  // namespace headroom::allocator
