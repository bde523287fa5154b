// SPDX-License-Identifier: Apache-2.0
// Decides whether a GPU's virtual memory is used: only if a self-test passed with exactly this GPU,
// driver and runtime, and never if it is known to lose data. Everything works without it.
#pragma once

#include <string>
#include <vector>

#include "allocator/backend.h"
#include "allocator/backends/driver.h"
#include "allocator/self_test/self_test_record.h"
#include "base/result.h"
#include "knowledge/virtual_memory.h"

namespace headroom::allocator {

struct VirtualMemoryVerdict {
  enum class Use : std::uint8_t {
    yes,
    test_needed,  // Nothing speaks against it, but it was not tested here, so it is not used.
    no,
  };
  Use use = Use::no;
  std::string why;  // One sentence for people.
  // The capabilities of a DeviceBackend; without virtual memory unless `use` is yes.
  Capabilities trusted;
};

// Pure. `denials` is the table of knowledge/virtual_memory.h.
VirtualMemoryVerdict virtual_memory_verdict(
    const VirtualMemoryKey& key, const SelfTestCache& cache,
    const std::vector<knowledge::VirtualMemoryDenial>& denials);

// Make the key of an open GPU. `gfx` is from the kernel's topology (facts) and `kernel` from uname,
// since amdgpu comes with the kernel. A part that is not known is empty.
VirtualMemoryKey hip_key(Driver& driver, const std::string& gfx, const std::string& kernel);
VirtualMemoryKey cuda_key(Driver& driver);

// The key of host memory, which is the kernel's matter alone.
VirtualMemoryKey host_key(const std::string& kernel);

// Returns HIP_VERSION as people write it: 71460850 is "7.14.60850" (hip_version.h: major ·
// 10,000,000 + minor · 100,000 + patch).
std::string hip_release(int version);

}  // namespace headroom::allocator
