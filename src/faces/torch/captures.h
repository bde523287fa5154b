// SPDX-License-Identifier: Apache-2.0
// The private pools of captured graphs on one GPU. PyTorch says which streams belong to a capture
// by a function, and the allocator wants each stream by name: a stream is told when the first block
// is asked for on it.
#pragma once

#include <headroom/allocator.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <vector>

#include "base/mutex.h"
#include "faces/torch/headroom_torch.h"

namespace headroom::torch_face {

// Any thread may call any function. `allocator` is always the same.
class Captures {
 public:
  void begin(PoolKey pool, StreamFilter filter);
  void end(headroom_allocator* allocator, PoolKey pool);
  // The pool's memory is anybody's when it was released as often as it was begun.
  void release(headroom_allocator* allocator, PoolKey pool);

  // Call before a block is asked for on a stream. It costs one load while nothing is captured.
  void note(headroom_allocator* allocator, headroom_stream stream) {
    if (filling_.load(std::memory_order_acquire) > 0) join(allocator, stream);
  }

 private:
  struct Pool {
    std::uint64_t number = 0;  // What the allocator calls it.
    int uses = 0;
    bool is_known = false;  // To the allocator, which learns of it with its first stream.
    StreamFilter filter;    // Empty while it is not being filled.
    std::vector<headroom_stream> streams;
  };

  void join(headroom_allocator* allocator, headroom_stream stream);

  Mutex mutex_;
  std::map<PoolKey, Pool> pools_ HEADROOM_GUARDED_BY(mutex_);
  std::uint64_t last_number_ HEADROOM_GUARDED_BY(mutex_) = 0;
  std::atomic<int> filling_ = 0;
};

}  // namespace headroom::torch_face
