// SPDX-License-Identifier: Apache-2.0
#include "base/quick_mutex.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "base/mutex.h"

namespace headroom {
namespace {

TEST(QuickMutex, one_thread_at_a_time_holds_it) {
  QuickMutex mutex;
  std::uint64_t count = 0;
  std::atomic<int> ready = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (++ready; ready < 4;) std::this_thread::yield();
      for (int k = 0; k < 300'000; ++k) {
        const MutexLock lock(mutex);
        count = count + 1;
      }
    });
  }
  for (std::thread& each : threads) each.join();
  EXPECT_EQ(count, 1'200'000U);
}

TEST(QuickMutex, who_only_tries_gets_it_when_it_is_free) {
  QuickMutex mutex;
  mutex.lock();
  bool got_it = true;
  std::thread([&] {
    DeferredLock lock(mutex);
    got_it = lock.try_lock();
  }).join();
  EXPECT_FALSE(got_it);
  mutex.unlock();
  DeferredLock lock(mutex);
  EXPECT_TRUE(lock.try_lock());
}

// All of them are asleep by the time that it is given back; each wakes the next.
TEST(QuickMutex, threads_that_went_to_sleep_get_it_one_after_the_other) {
  QuickMutex mutex;
  int served = 0;
  mutex.lock();
  std::vector<std::thread> threads;
  for (int i = 0; i < 5; ++i) {
    threads.emplace_back([&] {
      const MutexLock lock(mutex);
      ++served;
    });
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(served, 0);
  mutex.unlock();
  for (std::thread& each : threads) each.join();
  EXPECT_EQ(served, 5);
}

}  // namespace
}  // namespace headroom
