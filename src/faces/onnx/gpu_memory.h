// SPDX-License-Identifier: Apache-2.0
// The memory of one GPU for ONNX Runtime. Its callbacks name no stream, and the streams of its
// sessions are not known, so a block that was given back may be reused only after the whole GPU was
// waited for. Blocks are collected until more memory would have to be taken otherwise: then one
// wait serves all of them.
#pragma once

#include <headroom/allocator.h>

#include <atomic>
#include <cstdint>
#include <new>
#include <string>
#include <unordered_set>
#include <utility>

#include "base/mutex.h"
#include "base/result.h"

namespace headroom::onnx_face {

// What allocate() throws. ONNX Runtime catches std::exception, and its error has this text.
class Refused : public std::bad_alloc {
 public:
  explicit Refused(std::string text) : text_(std::move(text)) {}
  const char* what() const noexcept override { return text_.c_str(); }

 private:
  std::string text_;
};

struct Counts {
  std::atomic<std::uint64_t> allocations = 0;
  std::atomic<std::uint64_t> frees = 0;
  std::atomic<std::uint64_t> out_of_memory = 0;
  std::atomic<std::uint64_t> foreign_frees = 0;
  std::atomic<std::uint64_t> waits = 0;
};

// Any thread may call any function. `device` is always the same.
class GpuMemory {
 public:
  // Opens the GPU if that has not been done. Throws Refused; never returns null.
  void* allocate(int device, std::uint64_t bytes);
  void release(void* block) noexcept;
  // Waits for the GPU, and gives what is idle back to it.
  void trim(int device) noexcept;

  // Null before the first block.
  headroom_allocator* get() const { return made_.load(std::memory_order_acquire); }

  Counts counts;

 private:
  Result<headroom_allocator*> ready(int device) HEADROOM_REQUIRES(mutex_);
  // Whether the request would have the allocator take more memory from the GPU.
  bool would_grow(headroom_allocator* allocator, std::uint64_t bytes) const;
  // Waits for the GPU, and frees what was given back. If waiting fails, nothing is freed.
  void reuse(int device) HEADROOM_REQUIRES(mutex_);

  Mutex mutex_;
  std::atomic<headroom_allocator*> made_ = nullptr;
  std::unordered_set<void*> given_back_ HEADROOM_GUARDED_BY(mutex_);
};

}  // namespace headroom::onnx_face
