// SPDX-License-Identifier: Apache-2.0
// Maps a device's own stream handles to the allocator's numbers.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <vector>

#include "allocator/policy.h"
#include "base/mutex.h"
#include "base/result.h"

namespace headroom::allocator::c_api {

// Any thread may call any function. Looking up a known handle takes no lock. It goes through all
// handles in order, of which a program has only a handful.
class StreamTable {
 public:
  static constexpr std::size_t max_streams = 1024;

  // The handle's number. A new handle gets the lowest free number, and bind(number, native) is
  // called before the number is visible to others. Null has number 0.
  template <class Bind>
  Result<StreamId> number(const void* handle, Bind&& bind) {
    if (handle == nullptr) return StreamId{0};
    const auto native = reinterpret_cast<std::uintptr_t>(handle);
    if (const StreamId known = find(native); known != 0) return known;
    return add(native, bind);
  }

  // Returns 0 for an unknown handle.
  StreamId find(const void* handle) const {
    return handle == nullptr ? 0 : find(reinterpret_cast<std::uintptr_t>(handle));
  }

  // Requires: find() returned this number.
  void forget(StreamId stream) {
    const MutexLock lock(mutex_);
    handles_.at(stream).store(0, std::memory_order_release);
  }

  // All known streams, including the default stream.
  std::vector<StreamId> all() const {
    std::vector<StreamId> streams = {0};
    for (std::size_t i = 1; i < end_.load(std::memory_order_acquire); ++i) {
      if (handles_[i].load(std::memory_order_acquire) != 0)
        streams.push_back(static_cast<StreamId>(i));
    }
    return streams;
  }

 private:
  StreamId find(std::uintptr_t native) const {
    const std::size_t end = end_.load(std::memory_order_acquire);
    for (std::size_t i = 1; i < end; ++i) {
      if (handles_[i].load(std::memory_order_acquire) == native) return static_cast<StreamId>(i);
    }
    return 0;
  }

  template <class Bind>
  Result<StreamId> add(std::uintptr_t native, Bind&& bind) {
    const MutexLock lock(mutex_);
    if (const StreamId known = find(native); known != 0) return known;
    std::size_t free = 1;
    while (free < end_ && handles_[free].load(std::memory_order_relaxed) != 0) ++free;
    if (free == max_streams)
      return Error{Errc::unsupported, "expected fewer than 1024 streams at a time, found one more",
                   "call headroom_forget_stream() before a stream is destroyed"};
    bind(static_cast<StreamId>(free), native);
    handles_[free].store(native, std::memory_order_release);
    if (free == end_) end_.store(free + 1, std::memory_order_release);
    return static_cast<StreamId>(free);
  }

  Mutex mutex_;  // Of writers.
  std::array<std::atomic<std::uintptr_t>, max_streams> handles_{};
  std::atomic<std::size_t> end_ = 1;
};

}  // namespace headroom::allocator::c_api
