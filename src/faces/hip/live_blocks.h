// SPDX-License-Identifier: Apache-2.0
// Which addresses are whose: the blocks that hipMalloc() gave out, and the memory that the
// allocator took from the runtime for them. A second free of a block that begins such a piece would
// otherwise reach the runtime, which would take the whole piece from under its other blocks.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>

#include "base/mutex.h"

namespace headroom::hip_face {

// Any thread may call any function.
class LiveBlocks {
 public:
  void add(std::uint64_t block, int device) {
    const MutexLock lock(mutex_);
    blocks_[block] = device;
  }
  // The device of a live block, which is none any more. Of two threads that free one block, one
  // gets it.
  std::optional<int> take(std::uint64_t block) {
    const MutexLock lock(mutex_);
    const auto found = blocks_.find(block);
    if (found == blocks_.end()) return std::nullopt;
    const int device = found->second;
    blocks_.erase(found);
    return device;
  }

  // What the allocator took from the runtime, and gave back.
  void add_piece(std::uint64_t address, std::uint64_t bytes) {
    const MutexLock lock(mutex_);
    pieces_[address] = bytes;
  }
  void remove_piece(std::uint64_t address) {
    const MutexLock lock(mutex_);
    pieces_.erase(address);
  }
  bool is_in_piece(std::uint64_t address) const {
    const MutexLock lock(mutex_);
    auto above = pieces_.upper_bound(address);
    if (above == pieces_.begin()) return false;
    --above;
    return address - above->first < above->second;
  }

 private:
  mutable Mutex mutex_;
  std::unordered_map<std::uint64_t, int> blocks_ HEADROOM_GUARDED_BY(mutex_);  // → device.
  std::map<std::uint64_t, std::uint64_t> pieces_ HEADROOM_GUARDED_BY(mutex_);  // → bytes.
};

}  // namespace headroom::hip_face
