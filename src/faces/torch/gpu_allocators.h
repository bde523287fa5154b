// SPDX-License-Identifier: Apache-2.0
// One allocator for each GPU, made when its first block is asked for: opening a GPU takes hundreds
// of megabytes of it, which a GPU that the program never uses should not lose.
#pragma once

#include <headroom/allocator.h>

#include <array>
#include <atomic>
#include <optional>
#include <string>

#include "base/mutex.h"
#include "base/result.h"
#include "faces/torch/captures.h"
#include "faces/torch/headroom_torch.h"
#include "faces/torch/reserve.h"

namespace headroom::torch_face {

struct Counts {
  std::atomic<std::uint64_t> allocations = 0;
  std::atomic<std::uint64_t> frees = 0;
  std::atomic<std::uint64_t> allocated_bytes = 0;
  std::atomic<std::uint64_t> freed_bytes = 0;
  std::atomic<std::uint64_t> out_of_memory = 0;
  std::atomic<std::uint64_t> foreign_frees = 0;
};

// Any thread may call any function.
class GpuAllocator {
 public:
  // Null before ready().
  headroom_allocator* get() const { return made_.load(std::memory_order_acquire); }
  // The allocator of GPU `device`; makes it if there is none yet.
  Result<headroom_allocator*> ready(int device) {
    if (headroom_allocator* const made = get(); made != nullptr) return made;
    return make(device);
  }

  void set_target(const char* target);
  // Of all memory of the GPU; counts from now on, or from the beginning.
  void set_fraction(double fraction);

  // "CUDA" or "HIP", as PyTorch's build calls it.
  std::string runtime_name() const;

  Captures captures;
  Counts counts;
  Reserve reserve;

 private:
  Result<headroom_allocator*> make(int device);
  void apply_capacity(headroom_allocator* allocator) HEADROOM_REQUIRES(mutex_);

  Mutex mutex_;
  std::atomic<headroom_allocator*> made_ = nullptr;
  std::atomic<bool> is_hip_ = false;
  std::string target_ HEADROOM_GUARDED_BY(mutex_);
  std::optional<double> fraction_ HEADROOM_GUARDED_BY(mutex_);
  std::uint64_t total_bytes_ HEADROOM_GUARDED_BY(mutex_) = 0;
  std::uint64_t most_bytes_ HEADROOM_GUARDED_BY(mutex_) = 0;  // That the settings allow.
};

class GpuAllocators {
 public:
  // More than PyTorch has room for (C10_COMPILE_TIME_MAX_GPUS).
  static constexpr int max_gpus = 128;

  // Null if it is no GPU's number.
  GpuAllocator* find(int device) {
    const bool is_one = device >= 0 && device < max_gpus;
    return is_one ? &gpus_.at(static_cast<std::size_t>(device)) : nullptr;
  }
  // Calls work(allocator) for each allocator that there is, until it returns true.
  template <class Work>
  void find_owner(Work&& work) {
    for (GpuAllocator& gpu : gpus_)
      if (gpu.get() != nullptr && work(gpu.get())) return;
  }

 private:
  std::array<GpuAllocator, max_gpus> gpus_;
};

}  // namespace headroom::torch_face
