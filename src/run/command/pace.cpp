// SPDX-License-Identifier: Apache-2.0
#include "run/command/pace.h"

#include <algorithm>

namespace headroom::run {
namespace {

using supervisor::Time;

constexpr Time shortest{20};
constexpr Time while_busy{1000};
constexpr Time while_idle{4000};
constexpr int looks_in_a_hang = 4;
// A process fills memory at some gigabytes a second; the limit is to be noticed before it is far
// behind.
constexpr std::uint64_t fastest_growth_per_ms = std::uint64_t{2} << 20U;

Time time_to_fill(Bytes left) {
  return std::max(shortest, Time{left.value / fastest_growth_per_ms});
}

}  // namespace

bool Pace::is_idle(const Look& look, Time since) const {
  if (!before_) return false;
  // A program that waits still wakes now and then: a hundredth of a core is no work.
  const auto allowed_ms = static_cast<std::uint64_t>(since.count()) / 100;
  return look.output_bytes == before_->output_bytes && look.gpu_ms == before_->gpu_ms &&
         look.processor_ms <= before_->processor_ms + allowed_ms;
}

Time Pace::next(const Look& look) {
  const bool idle = is_idle(look, wait_);
  before_ = look;
  wait_ = std::min(wait_ * 2, idle ? while_idle : while_busy);
  Time wait = wait_;
  if (look.left) wait = std::min({wait, while_busy, time_to_fill(*look.left)});
  if (hang_) wait = std::min(wait, std::max(shortest, *hang_ / looks_in_a_hang));
  return wait;
}

}  // namespace headroom::run
