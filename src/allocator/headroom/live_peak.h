// SPDX-License-Identifier: Apache-2.0
// The most that was live at once over all shards. A single shard knows its own peak to the byte.
// With several, each adds to the sum only when it has changed by a step, so that few events touch
// what the shards share; the peak may then be too low by up to a step for each shard. A step is
// 1/256 of the peak, but at least a mebibyte.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "allocator/policy.h"
#include "base/mutex.h"

namespace headroom::allocator {

class LivePeak {
 public:
  static constexpr std::uint64_t step_bytes = std::uint64_t{1} << 20U;
  static constexpr std::size_t max_shards = 64;

  // Is called after each event of the shard, with the shard's lock held.
  void note(std::size_t shard, const Usage& usage) {
    Told& told = told_[shard];
    const std::uint64_t known = told.bytes.load(std::memory_order_relaxed);
    const std::uint64_t change =
        usage.live_bytes > known ? usage.live_bytes - known : known - usage.live_bytes;
    if (change < step_bytes || change < highest_.load(std::memory_order_relaxed) / 256) return;
    tell(told, known, usage);
  }
  // Does the same, however small the change is.
  void note_exactly(std::size_t shard, const Usage& usage) {
    Told& told = told_[shard];
    tell(told, told.bytes.load(std::memory_order_relaxed), usage);
  }

  // Sets the peak to what is live now, as far as the shards have reported it.
  void reset() {
    const MutexLock lock(mutex_);
    set_peak(add_up());
  }

  std::uint64_t bytes() const {
    const MutexLock lock(mutex_);
    return peak_bytes_;
  }
  ByComponent by_component() const {
    const MutexLock lock(mutex_);
    return at_peak_;
  }

 private:
  struct alignas(64) Told {
    std::atomic<std::uint64_t> bytes = 0;
    std::array<std::atomic<std::uint64_t>, component_count> live{};
  };

  void tell(Told& told, std::uint64_t known, const Usage& usage);

  struct Sum {
    std::uint64_t bytes = 0;
    ByComponent live;
  };

  Sum add_up() const;
  void set_peak(const Sum& sum) HEADROOM_REQUIRES(mutex_);

  std::array<Told, max_shards> told_;
  alignas(64) std::atomic<std::uint64_t> sum_ = 0;
  alignas(64) std::atomic<std::uint64_t> highest_ = 0;
  mutable Mutex mutex_;
  std::uint64_t peak_bytes_ HEADROOM_GUARDED_BY(mutex_) = 0;
  ByComponent at_peak_ HEADROOM_GUARDED_BY(mutex_);
};

}  // namespace headroom::allocator
