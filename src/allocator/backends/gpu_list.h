// SPDX-License-Identifier: Apache-2.0
// Which GPUs a runtime has here, asked in a child process: what a self-test is to be run on, and
// what its verdict will hold for.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "allocator/self_test/self_test_record.h"
#include "base/result.h"

namespace headroom::allocator {

enum class GpuRuntime : std::uint8_t { hip, cuda };

std::string_view to_string(GpuRuntime runtime);  // "HIP".

struct ListedGpu {
  int device = 0;    // The runtime's number.
  std::string name;  // As the runtime calls it; may be empty.
  std::string pci;   // "0000:03:00.0"; empty where the runtime does not say.
  // CUDA: whole. HIP: the runtime alone, since the rest is the kernel's to say.
  VirtualMemoryKey key;
  std::string problem;  // Why it could not be opened; then nothing but its number is known.
};

// Every one that the runtime shows this process. Fails with unsupported where the runtime is not
// here or has no GPU, and otherwise where it hung for `timeout_ms` or ended the child. Requires:
// this process has one thread and has not used a GPU yet.
Result<std::vector<ListedGpu>> list_gpus(GpuRuntime runtime, std::uint64_t timeout_ms);

}  // namespace headroom::allocator
