// SPDX-License-Identifier: Apache-2.0
#include "base/quick_mutex.h"

#include <chrono>

namespace headroom {
namespace {

// Work that takes less than a microsecond is most often over before a thread would be asleep.
constexpr int looks_before_sleep = 100;

// An unlock() that comes at the same moment as a sleeper's announcement may not see it. The sleeper
// then looks again after this time. Longer sleeps are cut into such pieces, which costs little.
constexpr std::chrono::milliseconds longest_sleep{1};

void pause() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#endif
}

}  // namespace

void QuickMutex::wait() {
  for (int i = 0; i < looks_before_sleep; ++i) {
    if (is_taken_.load(std::memory_order_relaxed) == 0 && try_lock()) return;
    pause();
  }
  std::unique_lock<std::mutex> asleep(sleep_mutex_);
  ++sleepers_;
  while (!try_lock()) is_free_.wait_for(asleep, longest_sleep);
  --sleepers_;
}

void QuickMutex::wake_one() {
  // Whoever is about to sleep holds this from its last look on.
  { const std::lock_guard<std::mutex> lock(sleep_mutex_); }
  is_free_.notify_one();
}

}  // namespace headroom
