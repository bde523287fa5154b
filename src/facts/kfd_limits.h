// SPDX-License-Identifier: Apache-2.0
// amdkfd's own account of system memory, /sys/kernel/debug/kfd/mem_limit: what it lets compute use
// and what it has given out, over all GPUs and processes (amdgpu_amdkfd_gpuvm.c,
// kfd_debugfs_kfd_mem_limits). With no compute process alive both "used" figures ought to be zero.
#pragma once

#include "base/bytes.h"
#include "facts/text_facts.h"

namespace headroom::facts {

struct KfdLimits {
  Fact<Bytes> system_limit, system_used;
  Fact<Bytes> ttm_limit, ttm_used;
};

// "System mem used 123M out of 15190M" and "TTM mem used …", in MiB rounded down.
KfdLimits parse_kfd_limits(const Text& text);

}  // namespace headroom::facts
