// SPDX-License-Identifier: Apache-2.0
#include "allocator/backends/background_thread.h"

#include <pthread.h>
#include <signal.h>

#include <cerrno>
#include <deque>
#include <optional>
#include <thread>
#include <utility>

#include "base/mutex.h"
#include "machine/os_error.h"

namespace headroom::allocator {

struct BackgroundThread::Queue {
  Mutex mutex;
  ConditionVariable changed;
  std::deque<std::function<void()>> work HEADROOM_GUARDED_BY(mutex);
  bool ends HEADROOM_GUARDED_BY(mutex) = false;
  std::thread thread;

  // Waits for it; nothing at the end.
  std::optional<std::function<void()>> next() {
    const MutexLock lock(mutex);
    while (!ends && work.empty()) changed.wait(mutex);
    if (ends) return std::nullopt;
    std::function<void()> first = std::move(work.front());
    work.pop_front();
    return first;
  }
  void work_off() {
    while (const auto piece = next()) (*piece)();
  }
};

BackgroundThread::BackgroundThread(machine::ForkGuard guard, std::unique_ptr<Queue> queue)
    : guard_(std::move(guard)), queue_(std::move(queue)) {}

Result<std::unique_ptr<BackgroundThread>> BackgroundThread::start() {
  HEADROOM_TRY(machine::ForkGuard guard, machine::ForkGuard::create());
  auto queue = std::make_unique<Queue>();
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  int problem = 0;
  try {
    queue->thread = std::thread([waiting = queue.get()] { waiting->work_off(); });
  } catch (const std::system_error& error) {
    problem = error.code().value();
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (problem != 0)
    return machine::os_error(problem, "starting a thread (ulimit -u shows how many may be)");
  return std::unique_ptr<BackgroundThread>(
      new BackgroundThread(std::move(guard), std::move(queue)));
}

BackgroundThread::~BackgroundThread() {
  if (!guard_.is_owner()) {
    // The thread was not forked, and its lock may have been taken at the fork, so the queue is left
    // alone.
    static_cast<void>(queue_.release());
    return;
  }
  {
    const MutexLock lock(queue_->mutex);
    queue_->ends = true;
  }
  queue_->changed.notify_one();
  queue_->thread.join();
}

void BackgroundThread::run(std::function<void()> work) {
  if (!guard_.is_owner()) {
    work();
    return;
  }
  {
    const MutexLock lock(queue_->mutex);
    queue_->work.push_back(std::move(work));
  }
  queue_->changed.notify_one();
}

}  // namespace headroom::allocator
