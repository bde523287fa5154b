// SPDX-License-Identifier: Apache-2.0
// A thread that does one piece of work after the other, for what may take long and must not hold
// up an allocation: the layout of a plan.
#pragma once

#include <functional>
#include <memory>

#include "base/result.h"
#include "machine/fork_guard.h"

namespace headroom::allocator {

// Any thread may call run(). In a forked child, which has no such thread, work is done at once by
// who asks for it.
class BackgroundThread {
 public:
  // Starts the thread, which takes no signals: they are for the program's own.
  static Result<std::unique_ptr<BackgroundThread>> start();
  // Waits for the work that is being done; what was not begun is dropped.
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
