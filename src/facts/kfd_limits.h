// SPDX-License-Identifier: Apache-2.0
// amdkfd's own account of system memory, /sys/kernel/debug/kfd/mem_limit: what it lets compute use
// and what it has given out, over all GPUs and processes (amdgpu_amdkfd_gpuvm.c,
// kfd_debugfs_kfd_mem_limits). With no compute process alive both "used" figures ought to be zero.
#pragma once

#include <optional>

#include "base/bytes.h"
#include "facts/kfd_rule.h"
#include "facts/text_facts.h"

namespace headroom::facts {

// What the file counts in: a figure stands for anything up to the next one.
constexpr Bytes kfd_limits_unit = 1_MiB;

struct KfdLimits {
  Fact<Bytes> system_limit, system_used;
  Fact<Bytes> ttm_limit, ttm_used;
  // Of a prediction: the rule that the figures of now follow. They themselves are not kept.
  std::optional<KfdRule> rule;
};

// "System mem used 123M out of 15190M" and "TTM mem used …", in MiB rounded down. From 6.5 on the
// driver sets both with the first GPU and prints 0M until then, which is no limit and no use, and
// missing (not_present).
KfdLimits parse_kfd_limits(const Text& text);

}  // namespace headroom::facts
