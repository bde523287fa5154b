// SPDX-License-Identifier: Apache-2.0
// Memory that is held back for what follows a model's forward pass: the loss, and the first of its
// gradients. A forward pass that runs out of memory can be made again in parts; a loss cannot.
#pragma once

#include <headroom/allocator.h>

#include <cstdint>

#include "base/mutex.h"

namespace headroom::torch_face {

// Any thread may call any function. The allocator is the same in all calls, and outlives this.
class Reserve {
 public:
  // The reserve is `bytes` large from now on, and closed; 0 gives it back. Returns how much is
  // held: 0 if there was not enough memory.
  std::uint64_t keep(headroom_allocator* allocator, std::uint64_t bytes);

  // From now on, spend() may take it.
  void open();

  // Gives the reserve back if it is open; returns whether there was any.
  bool spend(headroom_allocator* allocator);

  std::uint64_t bytes() const;

 private:
  void give_back(headroom_allocator* allocator) HEADROOM_REQUIRES(mutex_);

  mutable Mutex mutex_;
  void* block_ HEADROOM_GUARDED_BY(mutex_) = nullptr;
  std::uint64_t bytes_ HEADROOM_GUARDED_BY(mutex_) = 0;
  bool is_open_ HEADROOM_GUARDED_BY(mutex_) = false;
};

}  // namespace headroom::torch_face
