// SPDX-License-Identifier: Apache-2.0
#include "supervisor/hang_watch.h"

#include <fmt/format.h>

#include <algorithm>

namespace headroom::supervisor {

void HangWatch::begin(Time now) {
  since_.reset();
  used_ms_ = 0;
  worked_ = looked_ = now;
  quiet_ = Time{0};
}

bool HangWatch::is_work(const Counters& counters, Time now) const {
  if (!since_ || counters.output_bytes != since_->output_bytes ||
      counters.gpu_ms != since_->gpu_ms || counters.processor_ms < since_->processor_ms) {
    return true;
  }
  const auto used = static_cast<double>(counters.processor_ms - since_->processor_ms);
  const auto passed = static_cast<double>((now - worked_).count());
  return used > noise_share * passed + static_cast<double>(noise_ms);
}

bool HangWatch::add(std::uint64_t output_bytes, std::uint64_t processor_ms, std::uint64_t gpu_ms,
                    Time now) {
  if (!limit_) return false;
  const Counters counters{output_bytes, processor_ms, gpu_ms};
  const Time unseen = now - looked_;
  looked_ = now;
  if (is_work(counters, now)) {
    since_ = counters;
    used_ms_ = 0;
    worked_ = now;
    quiet_ = Time{0};
    return false;
  }
  used_ms_ = counters.processor_ms - since_->processor_ms;
  quiet_ += std::min(unseen, std::max(Time{1}, *limit_ / 4));
  return quiet_ >= *limit_;
}

std::string HangWatch::describe() const {
  return fmt::format("no output, {} ms of processor time and no GPU activity in {} s", used_ms_,
                     static_cast<double>(quiet_.count()) / 1000);
}

}  // namespace headroom::supervisor
