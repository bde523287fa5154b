// SPDX-License-Identifier: Apache-2.0
// A mutex for work of less than a microsecond that is done very often and hardly ever by two
// threads at once. It costs one atomic instruction where the standard one costs two and two calls:
// who gives it back writes to it as to any other word.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>

#include "base/thread_safety.h"

namespace headroom {

class HEADROOM_LOCK_CLASS QuickMutex {
 public:
  QuickMutex() = default;
  QuickMutex(const QuickMutex&) = delete;
  QuickMutex& operator=(const QuickMutex&) = delete;

  void lock() HEADROOM_ACQUIRES() {
    if (!try_lock()) wait();
  }
  // Looks at sleepers after the mutex is free, so it must not be destroyed by whoever takes it
  // next. It may miss a thread that is just going to sleep; that one wakes by itself, see wait().
  void unlock() HEADROOM_RELEASES() {
    is_taken_.store(0, std::memory_order_release);
    if (sleepers_.load(std::memory_order_relaxed) > 0) wake_one();
  }
  // Whether it was free and is held now.
  bool try_lock() HEADROOM_TRIES_TO_ACQUIRE(true) {
    std::uint32_t free = 0;
    return is_taken_.compare_exchange_strong(free, 1, std::memory_order_acquire,
                                             std::memory_order_relaxed);
  }

 private:
  void wait() HEADROOM_ACQUIRES();
  void wake_one();

  std::atomic<std::uint32_t> is_taken_ = 0;
  std::atomic<std::uint32_t> sleepers_ = 0;
  std::mutex sleep_mutex_;
  std::condition_variable is_free_;
};

}  // namespace headroom
