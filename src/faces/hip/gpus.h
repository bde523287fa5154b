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

 private:
  struct Gpu {
    std::atomic<headroom_allocator*> allocator = nullptr;
    std::atomic<bool> is_tried = false;
  };
  static bool is_number(int device) { return device >= 0 && device < max_gpus; }

  Mutex mutex_;  // Of whoever opens.
  std::array<Gpu, max_gpus> gpus_;
};

}  // namespace headroom::hip_face
