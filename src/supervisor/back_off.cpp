// SPDX-License-Identifier: Apache-2.0
#include "supervisor/back_off.h"

#include <algorithm>

namespace headroom::supervisor {
namespace {

constexpr int well_times = 10;

}  // namespace

BackOff::BackOff(const Policy& policy)
    : first_(policy.back_off),
      // A first wait that was asked for is kept, also where it is longer than the longest.
      longest_(std::max(policy.back_off, policy.longest_back_off)),
      next_(policy.back_off) {}

Time BackOff::next(Time ran) {
  if (ran / well_times >= longest_) next_ = first_;
  const Time wait = next_;
  next_ = next_ > longest_ / 2 ? longest_ : next_ * 2;
  return wait;
}

}  // namespace headroom::supervisor
