// SPDX-License-Identifier: Apache-2.0
// Memory of the host for ONNX Runtime's provider for the processor, whose work is done when it
// gives a block back.
#pragma once

#include <headroom/allocator.h>

#include <atomic>
#include <string>

#include "base/mutex.h"
#include "base/result.h"
#include "faces/onnx/gpu_memory.h"
#include "faces/onnx/ort_api.h"

namespace headroom::onnx_face {

// Any thread may call any function.
class HostMemory : private OrtAllocator {
 public:
  // Makes the allocator, and registers it with the one environment of ONNX Runtime in this process.
  // The object must live until the end of the process. Fails if it is registered already.
  Status register_with(const OrtApiBase& base);

  // Null before it is registered.
  headroom_allocator* get() const { return made_.load(std::memory_order_acquire); }

  Counts counts;

 private:
  void* take(std::size_t bytes);  // Throws Refused.
  void give_back(void* block) noexcept;

  Mutex mutex_;  // Of whoever registers.
  std::atomic<headroom_allocator*> made_ = nullptr;
  void* info_ = nullptr;  // OrtMemoryInfo.
};

}  // namespace headroom::onnx_face
