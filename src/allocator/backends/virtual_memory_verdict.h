// SPDX-License-Identifier: Apache-2.0
// Whether a GPU's virtual memory is used: only where a self-test passed with this very GPU, driver
// and runtime, and never where it is known to lose data. Everything works without it.
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
    test_needed,  // Nothing speaks against it, and nobody has tested it here. Not used until then.
    no,
  };
  Use use = Use::no;
  std::string why;  // One sentence for people.
  // What a DeviceBackend is made with; nothing of virtual memory unless `use` is yes.
  Capabilities trusted;
};

// Pure. `denials` is knowledge/virtual_memory's table.
VirtualMemoryVerdict virtual_memory_verdict(
    const VirtualMemoryKey& key, const SelfTestCache& cache,
    const std::vector<knowledge::VirtualMemoryDenial>& denials);

// The keys of an open GPU. HIP: `gfx` as the kernel's topology tells (facts), `kernel` as uname
// does, since amdgpu comes with it. What cannot be told is empty.
VirtualMemoryKey hip_key(Driver& driver, const std::string& gfx, const std::string& kernel);
VirtualMemoryKey cuda_key(Driver& driver);

// The key of host memory, which is the kernel's matter alone.
VirtualMemoryKey host_key(const std::string& kernel);

// HIP_VERSION as people write it: 71460850 is "7.14.60850" (hip_version.h: major · 10,000,000 +
// minor · 100,000 + patch).
std::string hip_release(int version);

}  // namespace headroom::allocator
