// SPDX-License-Identifier: Apache-2.0
// A thread that does one piece of work after the other. It computes layouts of plans, which may
// take long and must not hold up an allocation.
#pragma once

#include <functional>
#include <memory>

#include "base/result.h"
#include "machine/fork_guard.h"

namespace headroom::allocator {

// Any thread may call run(). In a forked child, which does not have the thread, run() does the work
// itself.
class BackgroundThread {
 public:
  // Starts the thread. It blocks all signals, which are for the program's own threads.
  static Result<std::unique_ptr<BackgroundThread>> start();
  // Waits for the piece of work in progress and drops the rest.
  ~BackgroundThread();
  BackgroundThread(const BackgroundThread&) = delete;
  BackgroundThread& operator=(const BackgroundThread&) = delete;

  void run(std::function<void()> work);

 private:
  struct Queue;
  BackgroundThread(machine::ForkGuard guard, std::unique_ptr<Queue> queue);

  machine::ForkGuard guard_;
  std::unique_ptr<Queue> queue_;
};

}  // namespace headroom::allocator
