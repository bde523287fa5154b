// SPDX-License-Identifier: Apache-2.0
// By which of its formulas amdkfd limits what compute may take of the RAM. The kernel changed them
// twice (amdgpu_amdkfd_gpuvm.c, amdgpu_amdkfd_gpuvm_init_mem_limits):
//
//   before 6.5   15/16 and 3/8 of the RAM that is free when amdgpu loads (as in v6.1)
//   6.5, 6.6     15/16 of what is free when the first GPU is set up, and TTM's page limit
//                (5da209b3ae43, "drm/amdkfd: Update KFD TTM mem limit", in drm for 6.5-rc1)
//   from 6.7     RAM - RAM/64 - 1.5 GiB, and TTM's page limit (9b37d45d797e, "drm/amdgpu: Rework
//                KFD memory max limits", in drm for 6.7-rc1)
//
// The two older ones depend on what happened to be free: no two boots need have the same limit. The
// comment above the function still tells the oldest.
#pragma once

#include <optional>
#include <string>

#include "base/bytes.h"
#include "facts/fact.h"

namespace headroom::facts {

struct Gpu;
struct MachineFacts;

enum class KfdRule { shares_of_free_ram, free_ram_and_ttm, ram_and_ttm };

// From 6.5 on amdkfd's limit on GPU-mapped memory is TTM's, as it was when the driver loaded.
constexpr bool copies_ttm(KfdRule rule) {
  return rule != KfdRule::shares_of_free_ram;
}
// Until 6.6 its limit on all system memory depends on what was free.
constexpr bool depends_on_free_ram(KfdRule rule) {
  return rule != KfdRule::ram_and_ttm;
}

// MemTotal is not the same in every boot, nor from the driver's start on: kernels differ in what
// they keep for themselves, by some MiB up to a crash kernel's reserve. One part in so many of it.
constexpr std::uint64_t ram_tolerance_parts = 256;

// The rule that the driver's own figures follow; nothing where they are unknown or fit none.
std::optional<KfdRule> observe_kfd_rule(const Gpu& gpu, const MachineFacts& machine);

// What the machine shows counts before the versions, since distributions carry changes back: first
// its figures; then its pool, because a driver that takes an APU's from system memory (6.10) has
// the later changes too; then the version of AMD's package, or of the kernel. Missing where a
// distribution's kernel is known for later drivers than its number says.
Fact<KfdRule> find_kfd_rule(const Gpu& gpu, const MachineFacts& machine, bool pool_in_gtt);

// RAM - RAM/64, minus 1.5 GiB where that leaves at least 1.5 GiB of it and half of it otherwise:
// the limit on system memory from 6.7 on.
Bytes kfd_system_limit(Bytes ram);
// The same with its numbers filled in: "125.08 GiB - 125.08 GiB/64 - 1.50 GiB = 121.63 GiB".
std::string explain_system_limit(Bytes ram);

// The most that the older rules can allow: all of the RAM had been free.
Bytes most_of_system(Bytes ram);  // 15/16.
Bytes most_of_ttm(Bytes ram);     // 3/8.

}  // namespace headroom::facts
