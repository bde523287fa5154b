// SPDX-License-Identifier: Apache-2.0
// Whether host memory is remapped. Other than a GPU's virtual memory it need not be earned: it is
// the kernel's own mmap. But where a self-test of it failed, as in a sandbox that only imitates a
// kernel, it is not used either.
#pragma once

#include <optional>
#include <string>

#include "allocator/self_test/self_test_record.h"

namespace headroom::allocator {

// The release of the kernel that runs here, which amdgpu comes with; empty where it cannot be read.
std::string running_kernel();

// Why it is not used: which self-test failed with this kernel. Nothing: it is used.
std::optional<std::string> find_host_refusal(const SelfTestCache& results,
                                             const std::string& kernel);

// The same by the results of this process's user (self_test_path_of_caller), with the kernel that
// runs here. What cannot be read refuses nothing.
std::optional<std::string> find_host_refusal();

}  // namespace headroom::allocator
