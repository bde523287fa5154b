// SPDX-License-Identifier: Apache-2.0
// Memory of the machine for a hipMalloc() that the pool of an APU has no room for. An APU's GPU
// reads all of RAM, but the pool that hipMalloc() takes from ends earlier; hipHostMalloc() takes
// from beyond it. That is coherent memory, which the GPU reads more slowly, and unlike the pool's
// it is charged to the control group. So it is off unless the user names an amount.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "faces/hip/gpus.h"

namespace headroom::hip_face {

struct Runtime;

// Any thread may call any function.
class HostRoute {
 public:
  // Looks at the settings, the first time that a GPU is asked for memory, and says what the route
  // costs, or why there is none on this GPU: before any memory is taken this way.
  void ready(const Runtime& runtime, int device);

  // Null if the GPU has no such route, the amount is used up, or the machine or a control group of
  // this process has no more to give.
  void* take(const Runtime& runtime, headroom_allocator* allocator, int device,
             std::uint64_t bytes);
  // Returns HIP's code; the memory stays if it is an error.
  int give_back(const Runtime& runtime, int device, void* memory, std::uint64_t bytes);
  // The GPU was reset, and its memory went with that.
  void forget(int device);

 private:
  struct OfGpu {
    std::atomic<bool> is_tried = false;
    std::atomic<std::uint64_t> most_bytes = 0;  // 0: there is no route.
    std::atomic<std::uint64_t> used_bytes = 0;
  };
  std::array<OfGpu, Gpus::max_gpus> gpus_;
};

}  // namespace headroom::hip_face
