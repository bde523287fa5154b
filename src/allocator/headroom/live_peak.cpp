// SPDX-License-Identifier: Apache-2.0
#include "allocator/headroom/live_peak.h"

namespace headroom::allocator {

void LivePeak::tell(Told& told, std::uint64_t known, const Usage& usage) {
  told.bytes.store(usage.live_bytes, std::memory_order_relaxed);
  for (const Component c : all_components)
    told.live[static_cast<std::size_t>(c)].store(usage.live[c], std::memory_order_relaxed);
  // The difference is modulo 2^64, so that adding it works for falls as well.
  const std::uint64_t change = usage.live_bytes - known;
  const std::uint64_t sum = sum_.fetch_add(change, std::memory_order_relaxed) + change;
  if (sum <= highest_.load(std::memory_order_relaxed)) return;
  const MutexLock lock(mutex_);
  const Sum now = add_up();
  if (now.bytes > peak_bytes_) set_peak(now);
}

LivePeak::Sum LivePeak::add_up() const {
  Sum sum;
  for (const Told& each : told_) {
    for (const Component c : all_components) {
      const std::uint64_t bytes =
          each.live[static_cast<std::size_t>(c)].load(std::memory_order_relaxed);
      sum.live[c] += bytes;
      sum.bytes += bytes;
    }
  }
  return sum;
}

void LivePeak::set_peak(const Sum& sum) {
  peak_bytes_ = sum.bytes;
  at_peak_ = sum.live;
  highest_.store(sum.bytes, std::memory_order_relaxed);
}

}  // namespace headroom::allocator
