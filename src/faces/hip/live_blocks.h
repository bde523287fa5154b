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

struct LiveBlock {
  int device = -1;
  void* stream = nullptr;          // For which it was allocated.
  bool is_stream_ordered = false;  // From hipMallocAsync() and its kind.
  std::uint64_t host_bytes = 0;    // Of the machine's memory (HostRoute); else 0.
};

// Any thread may call any function.
class LiveBlocks {
 public:
  void add(std::uint64_t block, const LiveBlock& what) {
    const MutexLock lock(mutex_);
    blocks_[block] = what;
  }
  // Takes a live block out of the list. Of two threads that free one block, one gets it.
  std::optional<LiveBlock> take(std::uint64_t block) {
    const MutexLock lock(mutex_);
    const auto found = blocks_.find(block);
    if (found == blocks_.end()) return std::nullopt;
    const LiveBlock what = found->second;
    blocks_.erase(found);
    return what;
  }
  // The device's blocks are gone with its memory.
  void forget(int device) {
    const MutexLock lock(mutex_);
    std::erase_if(blocks_, [&](const auto& block) { return block.second.device == device; });
  }

  // The stream is about to be destroyed: its handle may soon be another's.
  void forget_stream(int device, const void* stream, void* instead) {
    const MutexLock lock(mutex_);
    for (auto& [block, what] : blocks_)
      if (what.device == device && what.stream == stream) what.stream = instead;
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

  // Around fork(), so that the child does not inherit the lock of a thread that it does not have.
  void lock() HEADROOM_ACQUIRES(mutex_) { mutex_.lock(); }
  void unlock() HEADROOM_RELEASES(mutex_) { mutex_.unlock(); }

 private:
  mutable Mutex mutex_;
  std::unordered_map<std::uint64_t, LiveBlock> blocks_ HEADROOM_GUARDED_BY(mutex_);
  std::map<std::uint64_t, std::uint64_t> pieces_ HEADROOM_GUARDED_BY(mutex_);  // → bytes.
};

}  // namespace headroom::hip_face
