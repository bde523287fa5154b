// SPDX-License-Identifier: Apache-2.0
// One allocator for each GPU, opened when its first block is asked for: a program that never uses
// a GPU pays nothing, and one that forks first has not opened any.
#pragma once

#include <headroom/allocator.h>

#include <array>
#include <atomic>

#include "base/mutex.h"
#include "base/result.h"

namespace headroom::hip_face {

// Any thread may call any function.
class Gpus {
 public:
  static constexpr int max_gpus = 128;

  // The allocator of a GPU; opens it if it was not tried before. Null if it cannot be opened, which
  // was then said on standard error, once for each GPU.
  headroom_allocator* ready(int device);
  // Null if the GPU has no allocator.
  headroom_allocator* get(int device) const;

  // The stream on which nothing ever runs and for which hipMalloc()'s blocks are, once there are
  // stream-ordered ones too: those that were freed on the null stream may still be in use there.
  // Null before.
  void* idle_stream(int device) const;
  // Makes it with `make` if there is none; null if that fails.
  void* ready_idle_stream(int device, void* (*make)());

  // Says that the device's own pool serves from here. False if others may access that pool, which
  // the allocator's memory cannot give.
  bool use_pool(int device);
  // Says that others shall access it. False if it serves from here already.
  bool share_pool(int device);

  // Destroys the allocator of a GPU that is about to be reset; the next block opens a new one.
  void reset(int device);

 private:
  struct Gpu {
    std::atomic<headroom_allocator*> allocator = nullptr;
    std::atomic<bool> is_tried = false;
    std::atomic<void*> idle_stream = nullptr;
    std::atomic<int> pool = unused_pool;
  };
  static constexpr int unused_pool = 0;
  static constexpr int used_pool = 1;
  static constexpr int shared_pool = 2;
  static bool is_number(int device) { return device >= 0 && device < max_gpus; }

  Mutex mutex_;  // Of whoever opens.
  std::array<Gpu, max_gpus> gpus_;
};

}  // namespace headroom::hip_face
