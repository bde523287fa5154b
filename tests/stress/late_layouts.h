// SPDX-License-Identifier: Apache-2.0
// An executor whose layouts come late: each on a thread of its own.
#pragma once

#include <functional>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "allocator/plans/planner.h"

namespace headroom::allocator::testing {

// Threads that may be slower than the program.
class LateLayouts {
 public:
  ~LateLayouts() { join(); }
  Executor executor() {
    return [this](std::function<void()> work) {
      const std::scoped_lock lock(mutex_);
      threads_.emplace_back(std::move(work));
    };
  }
  void join() {
    const std::scoped_lock lock(mutex_);
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }

 private:
  std::mutex mutex_;
  std::vector<std::thread> threads_;
};

}  // namespace headroom::allocator::testing
