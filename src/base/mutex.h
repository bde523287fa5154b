// SPDX-License-Identifier: Apache-2.0
// std::mutex and what holds it for a scope, with the annotations that clang checks: the standard
// library's own have none. They cost what the standard ones cost.
#pragma once

#include <condition_variable>
#include <mutex>

#include "base/thread_safety.h"

namespace headroom {

class HEADROOM_LOCK_CLASS Mutex {
 public:
  void lock() HEADROOM_ACQUIRES() { mutex_.lock(); }
  void unlock() HEADROOM_RELEASES() { mutex_.unlock(); }
  // Whether it was free and is held now.
  bool try_lock() HEADROOM_TRIES_TO_ACQUIRE(true) { return mutex_.try_lock(); }

 private:
  friend class ConditionVariable;
  std::mutex mutex_;
};

// Holds a mutex, which may be of any kind, from here to the end of the scope. The mutex outlives
// it.
template <class Kind>
class HEADROOM_SCOPED_LOCK_CLASS MutexLock {
 public:
  explicit MutexLock(Kind& mutex) HEADROOM_ACQUIRES(mutex) : mutex_(mutex) { mutex_.lock(); }
  ~MutexLock() HEADROOM_RELEASES() { mutex_.unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Kind& mutex_;
};

// Holds a mutex from its lock(), or from a try_lock() that succeeds, to the end of the scope.
// Requires: at most one of them succeeds.
template <class Kind>
class HEADROOM_SCOPED_LOCK_CLASS DeferredLock {
 public:
  explicit DeferredLock(Kind& mutex) HEADROOM_EXCLUDES(mutex) : mutex_(mutex) {}
  ~DeferredLock() HEADROOM_RELEASES() {
    if (is_held_) mutex_.unlock();
  }
  DeferredLock(const DeferredLock&) = delete;
  DeferredLock& operator=(const DeferredLock&) = delete;

  void lock() HEADROOM_ACQUIRES() {
    mutex_.lock();
    is_held_ = true;
  }
  bool try_lock() HEADROOM_TRIES_TO_ACQUIRE(true) {
    is_held_ = mutex_.try_lock();
    return is_held_;
  }

 private:
  Kind& mutex_;
  bool is_held_ = false;
};

// std::condition_variable for a Mutex.
class ConditionVariable {
 public:
  // Lets go of the mutex, waits for a notification and takes the mutex again. It may return without
  // a notification, so the caller asks for its condition in a loop.
  void wait(Mutex& mutex) HEADROOM_REQUIRES(mutex) {
    std::unique_lock<std::mutex> lock(mutex.mutex_, std::adopt_lock);
    changed_.wait(lock);
    lock.release();  // The caller holds it on.
  }
  void notify_one() { changed_.notify_one(); }

 private:
  std::condition_variable changed_;
};

}  // namespace headroom
